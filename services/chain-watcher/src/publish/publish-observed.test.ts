import { describe, expect, test } from '@jest/globals';
import { type BlockRef, decodeMakerEvent, type MakerObserved } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type AppendedAt, type Appender, type LogRecord, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { createFactPublisher, type Observed } from './publish-observed.js';

const PARTITIONS = 3;
const ALL = [0, 1, 2];
const TERM = 5;
const block: BlockRef = { number: 7, hash: `0x${'77'.repeat(32)}`, timestamp: 1_700_000_000 };

/** Makers of a partition, always the same ones. */
const makerOf = (partition: number, at = 0): Hex => {
  const found: Hex[] = [];
  for (let n = 1; found.length <= at; n += 1) {
    const maker: Hex = `0x${n.toString(16).padStart(40, '0')}`;
    if (partitionOf(maker, PARTITIONS) === partition) found.push(maker);
  }
  return found[at] ?? '0x';
};
const observed = (maker: Hex, orders = 0): Observed => {
  const named = Array.from({ length: orders }, (_, n) => ({
    orderHash: `0x${n.toString(16).padStart(64, '0')}` as Hex,
    filled: '0x0' as Hex,
    cancelled: false,
  }));
  const cause = { kind: 'read', occasion: 'SWEEP' } as const;
  const fact: MakerObserved = { type: 'MakerObserved', maker, block, term: TERM, cause, funds: [], orders: named };
  return { fact, trace: undefined };
};
const factOf = (record: LogRecord) => {
  const fact = decodeMakerEvent(record);
  if ('unreadable' in fact) throw new Error(fact.unreadable);
  return fact;
};
const briefOf = (records: readonly LogRecord[]) =>
  records.map((record) => {
    const fact = factOf(record);
    return `${record.partition}:${fact.type}${'maker' in fact ? `:${fact.maker}` : ''}`;
  });

/** A publisher, and what it appended. */
function setUp(
  answer: (records: readonly LogRecord[]) => Promise<void> = async () => undefined,
  batchRecordsMax?: number,
) {
  const appends: (readonly LogRecord[])[] = [];
  const append = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    appends.push(records);
    await answer(records);
    return records.map(({ partition }, n) => ({ partition, offset: BigInt(n) }));
  };
  const appender = { append } as unknown as Appender;
  const options = { appender, topic: 'facts', partitions: PARTITIONS, nowMs: () => 0, batchRecordsMax };
  return { publisher: createFactPublisher(options), appends };
}

describe('what was read at a block', () => {
  test('goes with its BlockProcessed to each partition in one append, whether there is anything or not', async () => {
    const { publisher, appends } = setUp();
    const [first, second, third] = [makerOf(0), makerOf(0, 1), makerOf(2)];
    await publisher.publishBlock(
      [first, third, second].map((maker) => observed(maker)),
      block,
      TERM,
      ALL,
    );
    expect(appends.map(briefOf)).toEqual([
      [`0:MakerObserved:${first}`, `0:MakerObserved:${second}`, '0:BlockProcessed'],
      ['1:BlockProcessed'],
      [`2:MakerObserved:${third}`, '2:BlockProcessed'],
    ]);
  });

  test('goes to those partitions alone that lack the block', async () => {
    const { publisher, appends } = setUp();
    await publisher.publishBlock([observed(makerOf(0)), observed(makerOf(2))], block, TERM, [2]);
    expect(appends.map(briefOf)).toEqual([[`2:MakerObserved:${makerOf(2)}`, '2:BlockProcessed']]);
  });

  test.each([
    ['records', 2, 0],
    ['bytes', 500, 3000],
  ])('is cut by %s where it is beyond a batch, with its BlockProcessed last', async (_, batchRecordsMax, orders) => {
    const { publisher, appends } = setUp(undefined, batchRecordsMax);
    const makers = [makerOf(1), makerOf(1, 1), makerOf(1, 2)];
    await publisher.publishBlock(
      makers.map((maker) => observed(maker, orders)),
      block,
      TERM,
      [1],
    );
    expect(appends.length).toBeGreaterThan(1);
    expect(appends.flatMap(briefOf)).toEqual([
      ...makers.map((maker) => `1:MakerObserved:${maker}`),
      '1:BlockProcessed',
    ]);
    for (const records of appends) {
      expect(records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)).toBeLessThan(900_000);
    }
  });

  test('waits for all partitions where one fails: what comes later must not overtake it', async () => {
    let finish: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { publisher } = setUp(async ([record]) => {
      if (record?.partition === 0) throw new LogUnavailable('away', { mayHaveBeenAppended: true });
      await slow;
    });
    let isOver = false;
    const publishing = publisher.publishBlock([], block, TERM, ALL).finally(() => {
      isOver = true;
    });
    publishing.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isOver).toBe(false);
    finish();
    await expect(publishing).rejects.toThrow(LogUnavailable);
  });
});

describe('a record', () => {
  test('has an id of its own, and continues the trace of its request', async () => {
    const { publisher, appends } = setUp();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const maker = makerOf(0);
    await publisher.publish([{ ...observed(maker), trace: { traceparent } }, observed(maker)]);
    const [first, second] = appends.flat().map(({ headers }) => headers);
    expect(first?.['traceparent']).toBe(traceparent);
    expect(second?.['traceparent']).toBeUndefined();
    expect(first?.['ce_id']).not.toBe(second?.['ce_id']);
  });

  test('is known to be before an offset once it is appended, and not where an append has failed', async () => {
    let isAway = false;
    const { publisher } = setUp(async () => {
      if (isAway) throw new LogUnavailable('away', { mayHaveBeenAppended: true });
    });
    const two = [observed(makerOf(0)), observed(makerOf(0, 1))];
    expect(publisher.isBefore(0, 0n)).toBe(true);
    const appending = publisher.publish(two);
    expect(publisher.isBefore(0, 9n)).toBe(false);
    await appending;
    expect([1n, 2n].map((offset) => publisher.isBefore(0, offset))).toEqual([false, true]);
    isAway = true;
    await expect(publisher.publish(two)).rejects.toThrow('away');
    expect(publisher.isBefore(0, 9n)).toBe(false);
    expect(publisher.isBefore(2, 0n)).toBe(true);
    isAway = false;
    await publisher.publish(two);
    expect(publisher.isBefore(0, 2n)).toBe(true);
  });

  test('is answered with where the last of its partition is', async () => {
    const { publisher } = setUp();
    const appended = await publisher.publish([observed(makerOf(0)), observed(makerOf(0, 1)), observed(makerOf(2))]);
    expect(appended).toEqual(
      new Map([
        [0, 1n],
        [2, 0n],
      ]),
    );
  });
});

describe('a term', () => {
  test('is started in one partition, and ended in all, though one of them is away', async () => {
    const { publisher, appends } = setUp(async ([record]) => {
      if (record?.partition === 1) throw new LogUnavailable('away', { mayHaveBeenAppended: false });
    });
    await publisher.startTerm(0, TERM, 'me');
    await publisher.endTerm(TERM, 'me');
    expect(appends.map(briefOf)).toEqual([['0:TermStarted'], ['0:TermEnded'], ['1:TermEnded'], ['2:TermEnded']]);
    expect(factOf(appends[0]?.[0] as LogRecord)).toEqual({ type: 'TermStarted', term: TERM, holder: 'me' });
  });
});
