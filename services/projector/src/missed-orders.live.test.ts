import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex, MakerEvent } from '@makerbook/contracts-events';
import type { StoredRecord } from '@makerbook/kafka';
import { byteaOf, type Postgres, readHaltedMakers, readMakerList, readProjection } from '@makerbook/postgres';
import { createListCache } from '@makerbook/redis';
import { makersOf, orderOf, startSeconds, storedRecord } from './testing/generate-facts.js';
import {
  batchOf,
  deploy,
  fresh,
  testPartition as partition,
  projectAll,
  type TestDeployment,
  testPartitions,
  withoutRepeats,
} from './testing/test-projection.js';

const makers = makersOf(partition, testPartitions, 5) as [Hex, Hex, Hex, Hex, Hex];
const [maker] = makers;
const cause = { kind: 'request' as const, requestId: 'request' };
const hash: Hex = `0x${'0'.repeat(64)}`;
const blockOf = (number: number) => ({ number, hash, timestamp: startSeconds + number });

const submitted = (of: Hex, number = 0): MakerEvent => {
  const { order, orderHash, signature } = orderOf(of, number);
  const expiresAt = `0x${(startSeconds + 10_000).toString(16)}` as const;
  const same = { ...order, nonce: '0x0' as const, expiresAt };
  return { type: 'OrderSubmitted', maker: of, order: same, orderHash, signature, acceptedAtMs: 0, cause };
};
const funded = (of: Hex): MakerEvent[] => {
  const { token } = orderOf(of, 0).order.making;
  const at = { maker: of, block: blockOf(1), cause };
  return [
    { ...at, type: 'NonceChanged', nonce: '0x0' },
    { ...at, type: 'BalanceChanged', token, balance: '0x64' },
    { ...at, type: 'AllowanceChanged', token, allowance: '0x64' },
  ];
};
const seen = (of: Hex, at: number, number = 0): MakerEvent => {
  const { orderHash } = orderOf(of, number);
  return { type: 'OrderFilled', maker: of, orderHash, filledMakingAmount: '0x0', block: blockOf(at), cause };
};
const mined = (number: number, knownOffset?: bigint): MakerEvent => ({
  type: 'BlockProcessed',
  block: blockOf(number),
  ...(knownOffset === undefined ? {} : { knownOffset: String(knownOffset) }),
});

/** The facts as the log holds them from the offset on. */
const streamOf = (facts: readonly MakerEvent[], from = 0n): StoredRecord[] =>
  facts.map((fact, index) => storedRecord(fact, { partition, offset: from + BigInt(index) }, startSeconds * 1000));

/** An order at offset 0, ACTIVE at the end. */
const active = streamOf([submitted(maker), ...funded(maker), seen(maker, 1), mined(1)]);
const end = BigInt(active.length);

let here: TestDeployment;
beforeEach(async () => {
  here = await deploy();
});
afterEach(() => here.stop());

/** A process of its own: it takes the partition with its first batch. */
function createOwner(overrides: Parameters<TestDeployment['projector']>[0] = {}) {
  const projector = here.projector(overrides);
  return async (records: readonly StoredRecord[]) => {
    const from = projector.owned.get(partition)?.position ?? (await projector.positionOf(partition));
    await projector.handleBatch(batchOf(records, from), { ...fresh, park: () => Promise.resolve() });
  };
}

/** What the router, a maker that asks Postgres, and one that asks Redis are told of the order. */
async function statusOf(of: Hex = maker, number = 0): Promise<readonly unknown[]> {
  const { orderHash: wanted } = orderOf(of, number);
  const entries = (await here.readFeed(here.topics.book)).filter(({ key }) => key === wanted);
  const told = entries.at(-1);
  const lists = createListCache(here.redis);
  const { nextOffset: snapshotPos, records } = await readMakerList(here.postgres, of, partition);
  const reading = await lists.readList(of, partition, startSeconds);
  if (reading.kind === 'cold') {
    await lists.fillList({ maker: of, partition, epoch: reading.epoch, snapshotPos, orders: records });
  }
  const cached = reading.kind === 'list' ? reading.records.map(String).join() : undefined;
  const listed = records.find((record) => record.orderHash === wanted)?.json;
  return [
    told?.value == null ? told?.headers['removal'] : JSON.parse(told.value).status,
    listed === undefined ? undefined : JSON.parse(listed).status,
    ...(cached === undefined ? [] : [/"status":"(\w+)"/.exec(cached)?.[1]]),
  ];
}

const everywhere = (status: string) => [status, status, status];

/** Counts what Postgres is asked. */
function counted(postgres: Postgres) {
  const asked: string[] = [];
  const query: Postgres['query'] = (text, values) => {
    asked.push(text);
    return postgres.query(text, values);
  };
  return { asked, postgres: { ...postgres, query } };
}

describe('a block whose watcher did not know of an order that is ACTIVE', () => {
  test.each<[string, number, boolean]>([
    ['the owner that has its maker in memory', 1000, false],
    ['an owner that keeps nothing', 0, false],
    ['a new owner', 1000, true],
  ])('takes it back to VALIDATING until it is read at that block: %s', async (_who, cachedOrdersMax, isTakenAnew) => {
    let handle = createOwner({ cachedOrdersMax });
    const next = async (fact: MakerEvent, offset: bigint) => {
      if (isTakenAnew) handle = createOwner({ cachedOrdersMax });
      await handle(streamOf([fact], offset));
    };
    await handle(active);
    await statusOf();
    expect(await statusOf()).toEqual(everywhere('ACTIVE'));
    await next(mined(2, 0n), end);
    expect(await statusOf()).toEqual(everywhere('VALIDATING'));
    await next(seen(maker, 2), end + 1n);
    expect(await statusOf()).toEqual(everywhere('ACTIVE'));
    const happened = await here.postgres.query('select log_offset, happened, status from order_history order by 1, 2');
    expect(happened.slice(-2)).toEqual([
      { log_offset: end, happened: 'CHANGED', status: 'VALIDATING' },
      { log_offset: end + 1n, happened: 'CHANGED', status: 'ACTIVE' },
    ]);
    // The same block once more, by the watcher that did not know of it then; and an older one.
    await next(mined(2, 0n), end + 2n);
    await next(mined(1, 0n), end + 3n);
    expect(await statusOf()).toEqual(everywhere('ACTIVE'));
    // The whole log at once gives the same rows.
    const whole = [mined(2, 0n), seen(maker, 2), mined(2, 0n), mined(1, 0n)];
    const there = await deploy();
    await projectAll(there.projector(), [...active, ...streamOf(whole, end)]);
    expect(await here.hash()).toEqual(await there.hash());
    expect(withoutRepeats(await here.readFeed(here.topics.book))).toEqual(await there.readFeed(there.topics.book));
    await there.stop();
  });

  test('asks for such orders where it may find some, and else costs what a block costs', async () => {
    const { asked, postgres } = counted(here.postgres);
    const cost = async (handle: (records: readonly StoredRecord[]) => Promise<void>, fact: MakerEvent, at: bigint) => {
      const before = asked.length;
      await handle(streamOf([fact], at));
      return asked.slice(before).filter((text) => !text.includes('min(due_at_seconds)')).length;
    };
    const owner = createOwner({ postgres });
    await owner(active);
    const book = await here.readFeed(here.topics.book);
    expect(await cost(owner, mined(2), end)).toBe(1);
    expect(await cost(owner, mined(3, 1n), end + 1n)).toBe(1);
    expect(await cost(owner, mined(3, 0n), end + 2n)).toBe(1);
    // One that takes the partition does not know where the newest order stands: before the position.
    const other = createOwner({ postgres });
    await other([]);
    expect(await cost(other, mined(4, end + 3n), end + 3n)).toBe(1);
    expect(await cost(other, mined(5, end + 2n), end + 4n)).toBe(2);
    expect(await here.readFeed(here.topics.book)).toEqual(book);
    expect((await statusOf()).slice(0, 2)).toEqual(['ACTIVE', 'ACTIVE']);
    // With the maker's rows, which it does not hold.
    expect(await cost(other, mined(6, 0n), end + 5n)).toBe(5);
    expect((await statusOf()).slice(0, 2)).toEqual(['VALIDATING', 'VALIDATING']);
    // From its first order on it knows.
    await other(streamOf([submitted(maker, 2), seen(maker, 6, 2)], end + 6n));
    expect(await cost(other, mined(7, end + 7n), end + 8n)).toBe(1);
    expect((await statusOf(maker, 2)).slice(0, 2)).toEqual(['ACTIVE', 'ACTIVE']);
    expect(await cost(other, mined(8, end + 6n), end + 9n)).toBe(2);
    expect((await statusOf(maker, 2)).slice(0, 2)).toEqual(['VALIDATING', 'VALIDATING']);
  });
});

describe('a block that has missed orders of many makers', () => {
  const all = makers.flatMap((of) => [submitted(of), submitted(of, 2), ...funded(of), seen(of, 1), seen(of, 1, 2)]);
  const opening = streamOf([...all, mined(1)]);
  const from = BigInt(opening.length);
  const block = streamOf([mined(2, 0n), mined(3, 0n)], from);
  /** One maker to a slice. */
  const sliced = { commitTransitionsMax: 2 };

  test('is committed in slices, by whichever owner, and gives what one commit gives', async () => {
    await createOwner()(opening);
    const slices: number[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const stopped = createOwner({
        ...sliced,
        onStep: async (step) => {
          if (step !== 'after commit') return;
          const stands = await readProjection(here.postgres, partition);
          slices.push(stands.slices);
          if (stands.slices > 0) throw new Error('killed');
        },
      });
      const { nextOffset } = await readProjection(here.postgres, partition);
      const left = block.filter(({ offset }) => offset >= nextOffset);
      const outcome = await stopped(left).catch((error: Error) => error);
      if (outcome === undefined) break;
      expect(outcome.message).toBe('killed');
    }
    expect(slices).toEqual([1, 2, 3, 4, 0, 0]);
    const there = await deploy();
    await projectAll(there.projector({ commitTransitionsMax: 1000 }), [...opening, ...block]);
    expect(await here.hash()).toEqual(await there.hash());
    const book = withoutRepeats(await here.readFeed(here.topics.book));
    expect(book).toEqual(await there.readFeed(there.topics.book));
    expect(book.slice(-10).map(({ value }) => JSON.parse(value ?? '{}').status)).toEqual(Array(10).fill('VALIDATING'));
    await there.stop();
  });

  test('halts a maker for whom that cannot be folded; mended, none of its orders is ACTIVE', async () => {
    const bad = makers[2];
    await createOwner()(opening);
    const moveFunding = (to: Hex) =>
      here.postgres.query('update funding set token = $2 where maker = $1', [byteaOf(bad), byteaOf(to)]);
    await moveFunding(bad);
    await createOwner(sliced)(block);
    expect(await readHaltedMakers(here.postgres, partition)).toEqual(new Map([[bad, from]]));
    for (const of of makers) expect((await statusOf(of))[0]).toBe(of === bad ? 'HALTED' : 'VALIDATING');
    // Nobody has told it otherwise: it is listed as it was.
    expect((await statusOf(bad))[1]).toBe('ACTIVE');
    await moveFunding(orderOf(bad, 0).order.making.token);
    await createOwner(sliced)(streamOf([mined(4)], from + 2n));
    expect(await readHaltedMakers(here.postgres, partition)).toEqual(new Map());
    expect((await statusOf(bad)).slice(0, 2)).toEqual(['HALTED', 'VALIDATING']);
  });
});
