import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { FatalError, RetryableError, type StoredRecord } from '@makerbook/kafka';
import { byteaOf, type Quarantine, readMakerList } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry, type Telemetry } from '@makerbook/telemetry';
import { projectorSettings } from '../env.js';
import { type RunningProjector, runProjector } from '../run.js';
import {
  blockAt,
  makersOf,
  observedAt,
  orderOf,
  startSeconds,
  streamOf,
  submittedOf,
  unfoldable,
} from '../testing/generate-facts.js';
import { type MistakenBuild, plantMistake } from '../testing/plant-mistake.js';
import {
  appendAll,
  batchOf,
  deploy,
  fresh,
  killedAt,
  testPartition as partition,
  projectAll,
  steps,
  type TestDeployment,
  testPartitions,
  until,
} from '../testing/test-projection.js';

const makers = makersOf(partition, testPartitions, 5) as [Hex, Hex, Hex, Hex, Hex];
const bad = makers[2];
const expiresAt = startSeconds + 1_000;
const cause = { kind: 'request' as const, requestId: 'request' };
const ordersOfMaker = 3;

const submitted = (maker: Hex, number: number, expiry = expiresAt) => submittedOf(maker, number, expiry);
const cancelled = (maker: Hex, number: number): MakerEvent => {
  const { orderHash } = orderOf(maker, number);
  return { type: 'OrderCancelled', maker, orderHash, expiresAtSeconds: expiresAt, cause };
};
const lifted = (maker: Hex): MakerEvent => {
  return { type: 'QuarantineLifted', maker, cause: { kind: 'operator', commandId: 'command' } };
};

/** Three orders of each maker, all in the book. */
const orders = makers.flatMap((maker) =>
  Array.from({ length: ordersOfMaker }, (_, number) => submitted(maker, number)),
);
const end = BigInt(orders.length);
const hashesOf = (maker: Hex) => Array.from({ length: ordersOfMaker }, (_, number) => orderOf(maker, number).orderHash);

let here: TestDeployment;
let parked: { readonly maker: string | undefined; readonly offset: bigint; readonly reason: string }[];
beforeEach(async () => {
  here = await deploy();
  parked = [];
});
afterEach(() => here.stop());

const hold = {
  ...fresh,
  park: async ({ headers, offset }: StoredRecord, reason: string) => {
    parked.push({ maker: headers['parked-maker'], offset, reason });
  },
};

/** Has a projector that begins with nothing in memory go on to the end of the facts. */
async function project(facts: readonly MakerEvent[], overrides: Parameters<TestDeployment['projector']>[0] = {}) {
  const stream = streamOf(facts, partition);
  const projector = here.projector(overrides);
  for (let tries = 0; tries < 5; tries += 1) {
    try {
      await projectAll(here, projector, stream, () => 6, hold);
      return projector;
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
    }
  }
  throw new Error('it was tried again and again');
}

async function openOrdersOf(maker: Hex): Promise<number> {
  return (await readMakerList(here.postgres, maker)).records.length;
}

async function quarantined(): Promise<Map<Hex, Omit<Quarantine, 'reason'>>> {
  const rows = await here.postgres.query<{ maker: Hex; offset: bigint; clock: Quarantine['clock'] }>(
    `select maker, quarantined_offset as offset, quarantine_reason as reason, quarantine_clock as clock from makers
     where quarantined_offset is not null`,
  );
  return new Map(rows.map(({ maker, ...quarantine }) => [maker, quarantine]));
}

/** The last record of each order in the book: its status, or why it left. */
async function readBook(): Promise<Map<string, string>> {
  const messages = await here.readFeed(here.topics.book);
  return new Map(
    messages.map(({ key, value, headers }) => {
      return [key, value === null ? (headers['removal'] ?? '') : JSON.parse(value).status];
    }),
  );
}

async function outcome() {
  return { book: await here.readFeed(here.topics.book), hash: await here.hash(), quarantined: await quarantined() };
}

describe('a fact that cannot be folded', () => {
  const facts = [...orders, unfoldable(bad), submitted(bad, 7), submitted(makers[0], 7), blockAt(5, expiresAt)];

  test('quarantines its maker: its orders leave the book, stay listed, and nothing more is folded for it', async () => {
    await project(facts);
    expect(await here.position()).toBe(end + 4n);
    expect(parked).toEqual([{ maker: bad, offset: end, reason: expect.stringMatching(/an amount of zero/) }]);
    const quarantine = {
      offset: end,
      reason: expect.stringMatching(/zero/),
      clock: { block: -1, seconds: 0 },
    };
    expect(await quarantined()).toEqual(new Map([[bad, quarantine]]));
    const book = await readBook();
    for (const maker of makers) {
      expect(await openOrdersOf(maker)).toBe(maker === bad ? ordersOfMaker : 0);
      for (const hash of hashesOf(maker)) expect(book.get(hash)).toBe(maker === bad ? 'QUARANTINED' : 'EXPIRED');
    }
    expect(book.has(orderOf(bad, 7).orderHash)).toBe(false);
    expect(book.has(orderOf(makers[0], 7).orderHash)).toBe(true);
  });

  test.each(steps)('leads to the same feed and rows where the projector is killed %s', async (step) => {
    await project(facts);
    const expected = await outcome();
    await here.stop();
    here = await deploy();
    await project(orders);
    await expect(project(facts, killedAt(step))).rejects.toThrow('killed');
    await project(facts);
    expect(await outcome()).toEqual(expected);
  });

  test('stops the process where too many makers break, before it harms them all', async () => {
    await project(orders);
    const four = [...orders, ...makers.slice(0, 4).map(unfoldable)];
    await expect(project(four)).rejects.toThrow(FatalError);
    await expect(project(four)).rejects.toThrow(/^4 makers cannot be folded, more than QUARANTINED_MAKERS_MAX/);
    expect(parked).toEqual([]);
    expect(await here.position()).toBe(end);
    expect(new Set((await readBook()).values())).toEqual(new Set(['VALIDATING']));
  });
});

const tamper: [string, string, RegExp][] = [
  ['has no funding entry', 'delete from funding where maker = $1', /its funding counts 0/],
  ['counts too few orders', 'update funding set open_orders = 1 where maker = $1', /its funding counts 1/],
  [
    'has a record that is no JSON',
    `update orders set record_start = '{"order' where maker = $1 and accepted_offset % 3 = 1`,
    /cannot be read.*JSON/,
  ],
  [
    'has a record without an order',
    `update orders set record_start = '{"a":1' where maker = $1 and accepted_offset % 3 = 1`,
    /cannot be read/,
  ],
  [
    'has a nonce that is no number',
    `update makers set nonce = 'NaN', nonce_block = 1 where maker = $1`,
    /cannot be read/,
  ],
];

describe('a maker whose rows', () => {
  const stopped = (reason: RegExp) =>
    new RegExp(`^partition ${partition}: .*${reason.source}.*Stop the services, restore the database or run rebuild`);

  test.each(tamper)(
    '%s stops the partition with the block that makes it due, and nothing is published',
    async (_what, sql, reason) => {
      await project(orders);
      const before = await here.readFeed(here.topics.book);
      await here.postgres.query(sql, [byteaOf(bad)]);
      const facts = [...orders, blockAt(5, expiresAt), blockAt(6, expiresAt + 1)];
      await expect(project(facts)).rejects.toThrow(FatalError);
      await expect(project(facts)).rejects.toThrow(stopped(reason));
      expect(parked).toEqual([]);
      expect(await here.readFeed(here.topics.book)).toEqual(before);
      expect(await here.position()).toBe(end);
    },
  );

  test('are refused by the read model stops the partition, and no row of it is written', async () => {
    await project(orders);
    await here.postgres.query(
      `alter table order_history add constraint refused check (maker <> '${byteaOf(bad)}' or happened <> 'REMOVED')`,
    );
    const facts = [...orders, blockAt(5, expiresAt), blockAt(6, expiresAt + 1)];
    const stream = streamOf(facts, partition);
    const projector = here.projector();
    await expect(projectAll(here, projector, stream.slice(0, -1))).rejects.toThrow(/refused a row/);
    // A commit that has failed is noticed with the next fact.
    await appendAll(here, stream);
    const next = batchOf(stream.slice(-1), end + 1n);
    await expect(projector.handleBatch(next, hold)).rejects.toThrow(stopped(/refused a row/));
    expect(await here.position()).toBe(end);
    await here.postgres.query('alter table order_history drop constraint refused');
    await project(facts);
    expect(await here.position()).toBe(end + 2n);
    expect(new Set((await readBook()).values())).toEqual(new Set(['EXPIRED', undefined]));
  });
});

describe('a quarantine that is lifted', () => {
  const block = { number: 6, timestamp: startSeconds + 2 };
  const facts = [
    ...orders,
    observedAt(bad, [0, 1, 2], { number: 5, timestamp: startSeconds }),
    blockAt(5, startSeconds + 1),
    cancelled(bad, 0),
    { type: 'MakerAdmitted' as const, maker: bad, cause: { kind: 'operator' as const, commandId: 'c' } },
    submitted(bad, 7),
    blockAt(6, block.timestamp),
    lifted(bad),
  ];
  let build: MistakenBuild;
  beforeAll(() => {
    build = plantMistake(bad);
  });
  afterAll(() => build.mend());

  /** The build has its mistake from the cancellation on, and is mended before the quarantine is lifted. */
  async function liftAfterMending(overrides: Parameters<TestDeployment['projector']>[0] = {}): Promise<void> {
    await project(facts.slice(0, -5));
    build.hasMistake = true;
    await project(facts.slice(0, -1));
    build.hasMistake = false;
    await project(facts, overrides);
  }

  test.each(steps)('leads to the same feed and rows where the projector is killed %s', async (step) => {
    await liftAfterMending();
    const expected = await outcome();
    await here.stop();
    here = await deploy();
    await expect(liftAfterMending(killedAt(step))).rejects.toThrow('killed');
    await project(facts);
    expect(await outcome()).toEqual(expected);
  });
});

describe('a running projector', () => {
  const telemetry: Telemetry = {
    ...startTelemetry('projector', { LOG_LEVEL: 'error' }),
    logger: silentLogger,
  };
  let running: RunningProjector | undefined;
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });

  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${running?.opsPort}/metrics`)).text();
    return Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)`, 'm').exec(text)?.[1] ?? 0);
  }

  test('parks the fact for the maker with all that is needed to find it, counts it, stays ready, and serves the others', async () => {
    running = await runProjector(readSettings(projectorSettings, here.environment), telemetry);
    const parkedBefore = await metric('projector_parked_messages_total');
    const facts = [...orders, unfoldable(bad), blockAt(5, expiresAt), submitted(bad, 7), blockAt(6, expiresAt + 1)];
    await appendAll(here, streamOf(facts, partition));
    await until(async () => (await here.position()) === end + 4n);
    const [record, ...others] = await here.readFeed(here.topics.parked);
    expect(others).toEqual([]);
    expect(record?.headers).toMatchObject({
      'parked-topic': here.topics.makerEvents,
      'parked-partition': String(partition),
      'parked-offset': String(end),
      'parked-maker': bad,
      'parked-reason': expect.stringContaining('an amount of zero'),
      ce_type: 'makerbook.OrderSubmitted.v1',
    });
    expect((await metric('projector_parked_messages_total')) - parkedBefore).toBe(1);
    await until(async () => (await metric('projector_quarantined_makers')) === 1);
    expect((await fetch(`http://127.0.0.1:${running?.opsPort}/readyz`)).status).toBe(200);
    for (const maker of makers) expect(await openOrdersOf(maker)).toBe(maker === bad ? ordersOfMaker : 0);
  });
});
