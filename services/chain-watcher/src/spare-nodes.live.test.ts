import { expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { type AskedCall, until } from '@makerbook/parts';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import type { SignedOrder, Stage } from './testing/stage-chain.js';

/** Allows for requests that come by the clock, not for missed blocks. */
const SLACK = 10;

let stage: Stage;
let token: Address;
/** The requests to the node, and the calls in each. */
const asked: AskedCall[][] = [];

const onStage = eachOnAStage(
  (own) => {
    stage = own;
  },
  async (chain) => {
    token = await chain.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  },
);

const callsOf = (method: string) => asked.flat().filter((call) => call.method === method);
/** Starts a watcher, counts its requests, and waits until it has processed the head. */
const watch = async (settings: Record<string, string> = {}) => {
  asked.length = 0;
  const { url } = await onStage.openGate((calls, forward) => {
    asked.push([...calls]);
    return forward(calls);
  });
  const watcher = await onStage.watch({ RPC_URL: url, ...settings });
  await stage.settled();
  return watcher;
};
/** Adds this many makers with an order each, and so as many pairs. */
const openPairs = async (count: number) => {
  const signed: SignedOrder[] = [];
  for (let n = 0; n < count; n += 1) {
    signed.push(await stage.sign(await stage.createAccount(), { making: { token, amount: 100n } }));
  }
  for (const order of signed) await stage.submit(order);
  await until('all orders are read', () =>
    signed.every(({ orderHash }) => stage.state(orderHash)?.status === 'INACTIVE'),
  );
  // An order counts as unread until a block follows its reading.
  await stage.mine(2);
  await stage.settled();
};

const FEW = 4;
const MANY = 32;
const blocksInLog = () =>
  stage.facts.filter(({ partition, fact }) => partition === 0 && fact.type === 'BlockProcessed').length;
const openPairsOnce = async (count: number) => {
  const watcher = await watch();
  await openPairs(count);
  await watcher.stop();
};
const catchUp = async (missedBlocks: number) => {
  await stage.mine(missedBlocks);
  const before = blocksInLog();
  // The watcher hardly ever asks for the next block, however long this test takes.
  const watcher = await watch({ MULTICALL_CALLS_MAX: '12', POLL_INTERVAL_MS: '60000' });
  await watcher.stop();
  // Only the head is published for all the missed blocks.
  expect(blocksInLog()).toBe(before + 1);
  return { requests: asked.length, calls: asked.flat().length, reads: callsOf('eth_call').length };
};

test('a long catch-up costs the same for 300 and 3,000 missed blocks, and grows only with the pairs', async () => {
  await openPairsOnce(FEW);
  const [few, fewOverMore] = [await catchUp(300), await catchUp(3000)];
  await openPairsOnce(MANY - FEW);
  const [many, manyOverMore] = [await catchUp(300), await catchUp(3000)];
  for (const [short, long] of [
    [few, fewOverMore],
    [many, manyOverMore],
  ] as const) {
    expect(long.calls).toBeLessThanOrEqual(short.calls + SLACK);
    expect(long.requests).toBeLessThanOrEqual(short.requests + SLACK);
  }
  expect(few.requests).toBeLessThan(30);
  expect(few.reads).toBeGreaterThan(0);
  expect(many.reads / few.reads).toBeGreaterThan(MANY / FEW / 2);
  expect(many.reads / few.reads).toBeLessThan((MANY / FEW) * 1.5);
});
