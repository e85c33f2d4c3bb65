import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex, MakerEvent } from '@makerbook/contracts-events';
import { FatalError, type StoredRecord } from '@makerbook/kafka';
import { byteaOf, projectedPosition, readHaltedMakers, readMakerList } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry, type Telemetry } from '@makerbook/telemetry';
import { projectorSettings } from './env.js';
import { type RunningProjector, runProjector } from './run.js';
import { makersOf, orderOf, startSeconds, storedRecord } from './testing/generate-facts.js';
import {
  batchOf,
  deploy,
  fresh,
  testPartition as partition,
  projectAll,
  type TestDeployment,
  testPartitions,
} from './testing/test-projection.js';

const makers = makersOf(partition, testPartitions, 5) as [Hex, Hex, Hex, Hex, Hex];
const bad = makers[2];
const expiresAt = startSeconds + 1_000;
const cause = { kind: 'request' as const, requestId: 'request' };
const ordersOfMaker = 3;

const submitted = (maker: Hex, number: number, expiry = expiresAt): MakerEvent => {
  const { order, orderHash, signature } = orderOf(maker, number);
  const same = { ...order, nonce: '0x0' as const, expiresAt: `0x${expiry.toString(16)}` as const };
  return { type: 'OrderSubmitted', maker, order: same, orderHash, signature, acceptedAtMs: startSeconds * 1000, cause };
};
const blockAt = (number: number, timestamp: number): MakerEvent => ({
  type: 'BlockProcessed',
  block: { number, hash: `0x${'0'.repeat(64)}`, timestamp },
});
const balanceOf = (maker: Hex): MakerEvent => ({
  type: 'BalanceChanged',
  maker,
  token: orderOf(maker, 0).order.making.token,
  balance: '0x64',
  block: { number: 1, hash: `0x${'0'.repeat(64)}`, timestamp: startSeconds },
  cause: { kind: 'read', occasion: 'SWEEP' },
});
const streamOf = (facts: readonly MakerEvent[], from = 0n): StoredRecord[] =>
  facts.map((fact, index) => storedRecord(fact, { partition, offset: from + BigInt(index) }, startSeconds * 1000));

/** Three orders of each maker, all in the book. */
const orders = makers.flatMap((maker) =>
  Array.from({ length: ordersOfMaker }, (_, number) => submitted(maker, number)),
);
const end = BigInt(orders.length);
const hashesOf = (maker: Hex) => Array.from({ length: ordersOfMaker }, (_, number) => orderOf(maker, number).orderHash);

let here: TestDeployment;
beforeEach(async () => {
  here = await deploy();
});
afterEach(() => here.stop());

/** A projector that begins with nothing in memory, and what it parks. */
function freshProjector(overrides: Parameters<TestDeployment['projector']>[0] = {}) {
  const parked: { readonly maker: string | undefined; readonly offset: bigint; readonly reason: string }[] = [];
  const hold = {
    ...fresh,
    park: async ({ headers, offset }: StoredRecord, reason: string) => {
      parked.push({ maker: headers['parked-maker'], offset, reason });
    },
  };
  const projector = here.projector(overrides);
  /** Takes the partition with the first records, and goes on with the later ones. */
  const handle = async (records: readonly StoredRecord[]) => {
    const from = projector.owned.get(partition)?.position ?? (await projector.positionOf(partition));
    await projector.handleBatch(batchOf(records, from), hold);
  };
  return { projector, handle, parked };
}

async function openOrdersOf(maker: Hex): Promise<number> {
  return (await readMakerList(here.postgres, maker, partition)).records.length;
}

/** The last record of each key in the book; the removal in place of a tombstone's value. */
async function readBook(): Promise<Map<string, string>> {
  const messages = await here.readFeed(here.topics.book);
  return new Map(
    messages.map(({ key, value, headers }) => [key, value === null ? (headers['removal'] ?? '') : 'IN BOOK']),
  );
}

const tamper: [string, string, RegExp][] = [
  ['has no funding entry', 'delete from funding where maker = $1', /open without a funding entry/],
  ['counts too few orders', 'update funding set open_orders = 1 where maker = $1', /open without a funding entry/],
  [
    'has a record that is no JSON',
    `update orders set record_start = '{"order' where maker = $1 and accepted_offset % 3 = 1`,
    /rows cannot be read.*JSON/,
  ],
  [
    'has a record without an order',
    `update orders set record_start = '{"a":1' where maker = $1 and accepted_offset % 3 = 1`,
    /rows cannot be read/,
  ],
  [
    'has a nonce that is no number',
    `update makers set nonce = 'NaN', nonce_block = 1 where maker = $1`,
    /rows cannot be read/,
  ],
];

describe('a block that breaks an invariant for one maker', () => {
  test.each(tamper)('whose state %s harms that maker alone', async (_what, sql, reason) => {
    await projectAll(here.projector(), streamOf(orders));
    await here.postgres.query(sql, [byteaOf(bad)]);
    const { handle, parked } = freshProjector();
    await handle(streamOf([blockAt(5, expiresAt)], end));
    expect(await projectedPosition(here.postgres, partition)).toBe(end + 1n);
    expect(parked).toEqual([{ maker: bad, offset: end, reason: expect.stringMatching(reason) }]);
    expect(parked[0]?.reason).toContain(bad);
    expect(await readHaltedMakers(here.postgres, partition)).toEqual(new Map([[bad, end]]));
    // Everybody else's orders have expired; the bad one's are out of the book, and still listed.
    const book = await readBook();
    for (const maker of makers) {
      expect(await openOrdersOf(maker)).toBe(maker === bad ? ordersOfMaker : 0);
      for (const hash of hashesOf(maker)) expect(book.get(hash)).toBe(maker === bad ? 'HALTED' : 'EXPIRED');
    }
    // In the order of their addresses, as ever.
    const tombstones = (await here.readFeed(here.topics.book)).filter(({ value }) => value === null);
    expect(tombstones.map(({ key }) => key)).toEqual(makers.flatMap(hashesOf));
  });

  test('is parked once, and the clock of the partition goes on block by block', async () => {
    await projectAll(here.projector(), streamOf(orders));
    await here.postgres.query('delete from funding where maker = $1', [byteaOf(bad)]);
    const { handle, parked } = freshProjector();
    for (let index = 0; index < 30; index += 1) {
      await handle(streamOf([blockAt(5 + index, expiresAt + index)], end + BigInt(index)));
    }
    expect(await projectedPosition(here.postgres, partition)).toBe(end + 30n);
    expect(parked).toHaveLength(1);
    // A maker of whom facts keep coming is tried again after each of them, and not parked again.
    const chatty = Array.from({ length: 10 }, (_, index) => [
      balanceOf(bad),
      blockAt(50 + index, expiresAt + 50 + index),
    ]);
    await handle(streamOf(chatty.flat(), end + 30n));
    expect(await projectedPosition(here.postgres, partition)).toBe(end + 50n);
    expect(parked).toHaveLength(1);
    expect(await openOrdersOf(bad)).toBe(ordersOfMaker);
  });

  test('lets a halted maker cancel, and orders that it posts leave the book with the next block', async () => {
    await projectAll(here.projector(), streamOf(orders));
    await here.postgres.query('update funding set open_orders = 1 where maker = $1', [byteaOf(bad)]);
    const { handle, parked } = freshProjector();
    await handle(streamOf([blockAt(5, expiresAt)], end));
    expect(await openOrdersOf(bad)).toBe(ordersOfMaker);
    const { orderHash } = orderOf(bad, 1);
    await handle(
      streamOf([{ type: 'OrderCancelled', maker: bad, orderHash, expiresAtSeconds: 4_000_000_000, cause }], end + 1n),
    );
    expect(await openOrdersOf(bad)).toBe(ordersOfMaker - 1);
    const resume = new Map((await here.readFeed(here.topics.resume)).map(({ key, value }) => [key, value]));
    expect(resume.get(orderHash)).toBeNull();
    const { orderHash: late } = orderOf(bad, 7);
    await handle(streamOf([submitted(bad, 7, expiresAt + 500)], end + 2n));
    expect((await readBook()).get(late)).toBe('IN BOOK');
    await handle(streamOf([blockAt(6, expiresAt + 1)], end + 3n));
    expect((await readBook()).get(late)).toBe('HALTED');
    expect(await openOrdersOf(bad)).toBe(ordersOfMaker);
    expect(parked).toHaveLength(1);
  });

  test('ends when the row is mended and the partition is taken again: the next block looks at the maker once', async () => {
    await projectAll(here.projector(), streamOf(orders));
    await here.postgres.query(
      "update funding set maker = '\\x00000000000000000000000000000000000000ff' where maker = $1",
      [byteaOf(bad)],
    );
    await freshProjector().handle(streamOf([blockAt(5, expiresAt)], end));
    // Taken again with the row as bad as before: tried, and neither parked nor told again.
    const before = await here.readFeed(here.topics.book);
    const again = freshProjector();
    await again.handle(streamOf([blockAt(6, expiresAt + 1)], end + 1n));
    expect(again.parked).toEqual([]);
    expect((await readHaltedMakers(here.postgres, partition)).get(bad)).toBe(end);
    expect(new Set((await here.readFeed(here.topics.book)).map(({ id }) => id))).toEqual(
      new Set(before.map(({ id }) => id)),
    );
    await here.postgres.query(
      "update funding set maker = $1 where maker = '\\x00000000000000000000000000000000000000ff'",
      [byteaOf(bad)],
    );
    const mended = freshProjector();
    await mended.handle(streamOf([blockAt(7, expiresAt + 2)], end + 2n));
    expect(mended.parked).toEqual([]);
    expect(await readHaltedMakers(here.postgres, partition)).toEqual(new Map());
    expect(await openOrdersOf(bad)).toBe(0);
    expect(mended.projector.owned.get(partition)?.untried.size).toBe(0);
    // The last word on its orders is that they are gone from both feeds.
    const resume = new Map((await here.readFeed(here.topics.resume)).map(({ key, value }) => [key, value]));
    for (const hash of hashesOf(bad)) expect(resume.get(hash)).toBeNull();
  });

  test('is found by the refusal of the read model too, among many makers and between slices', async () => {
    await projectAll(here.projector(), streamOf(orders));
    await here.postgres.query(
      `alter table order_history add constraint refused check (maker <> '${byteaOf(bad)}' or happened <> 'REMOVED')`,
    );
    const { handle, parked } = freshProjector({ commitTransitionsMax: 8 });
    await handle(streamOf([blockAt(5, expiresAt), blockAt(6, expiresAt + 1)], end));
    expect(parked).toEqual([{ maker: bad, offset: end, reason: expect.stringMatching(/refused a row.*refused/) }]);
    expect(await projectedPosition(here.postgres, partition)).toBe(end + 2n);
    const book = await readBook();
    for (const maker of makers) {
      for (const hash of hashesOf(maker)) expect(book.get(hash)).toBe(maker === bad ? 'HALTED' : 'EXPIRED');
    }
  });

  test('that is killed before or after it halted a maker goes on to the same end', async () => {
    await projectAll(here.projector(), streamOf(orders));
    await here.postgres.query('delete from funding where maker = $1', [byteaOf(bad)]);
    const blocks = streamOf([blockAt(5, expiresAt), blockAt(6, expiresAt + 1)], end);
    for (const step of ['before commit', 'after commit', 'after publish'] as const) {
      let left = 1;
      const dying = freshProjector({
        commitTransitionsMax: ordersOfMaker,
        onStep: (reached) => {
          if (reached !== step) return;
          left -= 1;
          if (left < 0) throw new Error(`killed ${step}`);
        },
      });
      await expect(dying.handle(blocks)).rejects.toThrow('killed');
    }
    const { projector, handle } = freshProjector({ commitTransitionsMax: ordersOfMaker });
    const from = await projector.positionOf(partition);
    await handle(blocks.filter(({ offset }) => offset >= from));
    expect(await projectedPosition(here.postgres, partition)).toBe(end + 2n);
    const tombstones = (await here.readFeed(here.topics.book)).filter(({ value }) => value === null);
    const ids = [...new Set(tombstones.map(({ id }) => id))];
    expect(ids).toEqual(makers.flatMap(hashesOf).map((hash) => `${partition}:${end}:${hash}:removed`));
    expect(await readHaltedMakers(here.postgres, partition)).toEqual(new Map([[bad, end]]));
  });

  test('stops the process where too many makers break at once, before it harms them all', async () => {
    await projectAll(here.projector(), streamOf(orders));
    await here.postgres.query('delete from funding where maker <> $1', [byteaOf(bad)]);
    const four = freshProjector();
    await expect(four.handle(streamOf([blockAt(5, expiresAt)], end))).rejects.toThrow(/^4 makers cannot be folded/);
    await expect(four.handle(streamOf([blockAt(5, expiresAt)], end))).rejects.toThrow(FatalError);
    // So where it is the rows that cannot be read: facts are not parked one after the other.
    await here.postgres.query("update orders set record_start = '{' where maker <> $1", [byteaOf(bad)]);
    const unread = freshProjector();
    const refused: string[] = [];
    for (let left = streamOf(makers.map(balanceOf), end); refused.at(-1) !== 'FatalError'; ) {
      const refusal = await unread.handle(left).catch((error: Error & { offset?: bigint }) => error);
      refused.push(refusal?.name ?? 'done');
      left = left.filter(({ offset }) => offset !== refusal?.offset);
    }
    expect(refused).toEqual(['PoisonRecord', 'PoisonRecord', 'PoisonRecord', 'FatalError']);
    expect([...four.parked, ...unread.parked]).toEqual([]);
    expect(await projectedPosition(here.postgres, partition)).toBe(end);
    expect(new Set((await readBook()).values())).toEqual(new Set(['IN BOOK']));
  });

  test('parks each fact about a maker whose rows cannot be read, and halts it with the next block though nothing is due', async () => {
    await projectAll(here.projector(), streamOf(orders));
    await here.postgres.query("update orders set record_start = '{' where maker = $1", [byteaOf(bad)]);
    const { handle, parked } = freshProjector();
    const facts = streamOf([balanceOf(makers[0]), balanceOf(bad), blockAt(5, startSeconds + 1)], end);
    const refusal = await handle(facts).catch((error: Error) => error);
    expect(refusal).toMatchObject({ name: 'PoisonRecord', offset: end + 1n });
    // As the consumer loop goes on: without the parked message.
    await handle([facts[0], facts[2]] as StoredRecord[]);
    expect(parked).toMatchObject([{ maker: bad, offset: end + 2n }]);
    const book = await readBook();
    for (const hash of hashesOf(bad)) expect(book.get(hash)).toBe('HALTED');
    for (const hash of hashesOf(makers[0])) expect(book.get(hash)).toBe('IN BOOK');
  });
});

describe('a running projector', () => {
  const telemetry: Telemetry = {
    ...startTelemetry({ service: 'projector', level: 'error', exportSpans: false }),
    logger: silentLogger,
  };
  let running: RunningProjector | undefined;
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });

  async function start(): Promise<RunningProjector> {
    running = await runProjector(readSettings(projectorSettings, here.environment), telemetry);
    return running;
  }

  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${running?.opsPort}/metrics`)).text();
    return Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)`, 'm').exec(text)?.[1] ?? 0);
  }

  test('parks the block for the maker with all that is needed to find it, counts it, stays ready, and serves the others', async () => {
    const appender = here.log.createAppender({ lingerMs: 0, timeoutMs: 60_000 });
    const append = (facts: readonly MakerEvent[]) =>
      appender.append(
        streamOf(facts).map(({ key, value, headers }) => {
          return { topic: here.topics.makerEvents, partition, key, value, headers };
        }),
      );
    await append(orders);
    await start();
    await until(async () => (await projectedPosition(here.postgres, partition)) === end);
    await running?.stop();
    await here.postgres.query('delete from funding where maker = $1', [byteaOf(bad)]);
    await start();
    const parkedBefore = await metric('projector_parked_messages_total');
    await append([blockAt(5, expiresAt), blockAt(6, expiresAt + 1), balanceOf(bad), blockAt(7, expiresAt + 2)]);
    await until(async () => (await projectedPosition(here.postgres, partition)) === end + 4n);
    const [parked, ...others] = await here.readFeed(here.topics.parked);
    expect(others).toEqual([]);
    expect(parked?.headers).toMatchObject({
      'parked-topic': here.topics.makerEvents,
      'parked-partition': String(partition),
      'parked-offset': String(end),
      'parked-maker': bad,
      'parked-reason': expect.stringContaining('open without a funding entry'),
      ce_type: 'makerbook.BlockProcessed.v1',
    });
    expect((await metric('projector_parked_messages_total')) - parkedBefore).toBe(1);
    await until(async () => (await metric('projector_halted_makers')) === 1);
    expect((await fetch(`http://127.0.0.1:${running?.opsPort}/readyz`)).status).toBe(200);
    for (const maker of makers) expect(await openOrdersOf(maker)).toBe(maker === bad ? ordersOfMaker : 0);
  });
});

async function until(condition: () => Promise<boolean>, withinMs = 90_000): Promise<void> {
  const limit = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > limit) throw new Error('it did not come about in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
