import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createChance, openTcpGate, type TcpGate } from '@makerbook/parts';
import { actOnChain } from './act-on-chain.js';
import { compareViews, subjectsOf } from './compare-views.js';
import type { Head } from './drive-chain.js';
import { type Fixture, openFixture } from './open-fixture.js';
import { openSimulation, type Simulation } from './open-simulation.js';
import { type MakerRequests, type Orders, openRequests } from './place-orders.js';
import { type Contracts, readContracts } from './read-contracts.js';

/** The other watcher is to have the log's clock within 5 s; a busy machine may take longer. */
const TAKEOVER_MS_MAX = 20_000;
const BLOCK_MS = 400;
const SETTLED_BLOCKS = 3;
const [first, second] = ['chain-watcher', 'second-watcher'] as const;
const settings = { TAKEOVER_MS: '3000' };
const chance = createChance(1);

let simulation: Simulation;
let gate: TcpGate;
let fixture: Fixture;
let contracts: Contracts;
let orders: Orders;
let requests: MakerRequests;
let made: Head[] = [];

beforeAll(async () => {
  simulation = await openSimulation();
  const { chain, services, kafkaBrokers, protocol } = simulation;
  await services.end(first, 'SIGTERM');
  await services.start(first, 'chain-watcher', settings);
  gate = await openTcpGate(`kafka://${kafkaBrokers}`);
  fixture = await openFixture(simulation, 1, chance);
  contracts = readContracts(chain, protocol);
  orders = { accepted: [], kept: [], spoilt: [], comparedBlock: chain.head().number };
  requests = openRequests(simulation, fixture, contracts, orders, chance);
  await untilOneHolds();
  await services.start(second, 'chain-watcher', {
    ...settings,
    NODE_OPTIONS: `--import=${new URL('../kit/reroute-connections.js', import.meta.url)}`,
    REROUTE: [`kafka://${kafkaBrokers}`, gate.url].map((url) => new URL(url).port).join(':'),
  });
  await services.ready();
});

afterAll(async () => {
  await simulation?.close();
  await gate?.close();
});

async function mine(): Promise<void> {
  const { outcomes: _, ...block } = await simulation.chain.mine(1);
  made.push(block);
}

/** The clock of the log moves once a watcher that was started anew publishes. */
async function untilOneHolds(): Promise<void> {
  while (simulation.feed.block() < simulation.chain.head().number) await pause(50);
}

/** Posts, deletes, transfers, approvals and fills, some for each block. */
async function makeBlock(): Promise<void> {
  const { chain, protocol } = simulation;
  await requests[chance.pickWeighted({ postNew: 10, delete: 2, spoil: 3 })]();
  for (let left = chance.below(6); left > 0; left -= 1) {
    await actOnChain(chain, protocol, fixture, orders.accepted, chance);
  }
  await mine();
  if (orders.spoilt.length > 0) await requests.postSpoilt();
  await pause(BLOCK_MS);
}

/** Makes blocks, takes the holder away, and makes blocks until the other one has processed some in every partition. */
async function takeOver(how: string, disturb: () => Promise<void> | void): Promise<void> {
  const { feed, chain } = simulation;
  for (let blocks = 0; blocks < SETTLED_BLOCKS; blocks += 1) await makeBlock();
  await untilOneHolds();
  const startedAt = performance.now();
  await disturb();
  // All that was mined before is published, and what comes from here on is not published by the one that is gone.
  const { number: before } = chain.head();
  let isOver = false;
  const working = (async () => {
    while (!isOver) await makeBlock();
  })();
  working.catch(() => undefined);
  try {
    while (feed.block() === before && performance.now() - startedAt < TAKEOVER_MS_MAX) await pause(10);
  } finally {
    isOver = true;
  }
  const tookMs = performance.now() - startedAt;
  await working;
  console.log(`the holder was ${how}: the other watcher had the log's clock after ${(tookMs / 1000).toFixed(2)} s`);
  expect(feed.block()).toBeGreaterThan(before);
  await mine();
  await compareViews(simulation, subjectsOf(fixture, contracts, orders.accepted), made);
  made = [];
  orders.comparedBlock = chain.head().number;
}

test('a standby takes over from a holder that is killed, cut off from Kafka, frozen or stopped, and no order is wrong', async () => {
  const { services, feed } = simulation;
  await takeOver('killed', () => services.end(first, 'SIGKILL'));
  await services.start(first, 'chain-watcher', settings);
  await services.ready([first]);

  await takeOver('cut off from Kafka', () => gate.cut());
  await gate.open();

  await takeOver('frozen', () => services.freeze(first));
  services.resume(first);

  await takeOver('stopped', () => services.end(second, 'SIGTERM'));
  // Those who were fenced have written nothing since.
  for (let blocks = 0; blocks < SETTLED_BLOCKS; blocks += 1) await makeBlock();
  await mine();
  const found = await compareViews(simulation, subjectsOf(fixture, contracts, orders.accepted), made);
  expect(found.active.held).toBeGreaterThan(0);
  expect(feed.bookBlock()).toBe(simulation.chain.head().number);
}, 600_000);
