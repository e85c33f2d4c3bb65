import { describe, expect, test } from '@jest/globals';
import { type BlockRef, decodeMakerEvent, type MakerObserved } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type AppendedAt, type FencedPublisher, type LogRecord, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { FactPublisher, type Observed } from './publish-observed.js';

const PARTITIONS = 3;
const ALL = [0, 1, 2];
const block: BlockRef = { number: 7, hash: `0x${'77'.repeat(32)}`, timestamp: 1_700_000_000 };

/** A maker of the partition, the same in every run. */
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
  const fact: MakerObserved = { type: 'MakerObserved', maker, block, cause, funds: [], orders: named };
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
function setUp(answer: (records: readonly LogRecord[]) => Promise<void> = async () => undefined) {
  const appends: (readonly LogRecord[])[] = [];
  const append = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    appends.push(records);
    await answer(records);
    return records.map(({ partition }, n) => ({ partition, offset: BigInt(n), timeMs: 0 }));
  };
  const publisher = new FactPublisher({
    publisher: { append } as unknown as FencedPublisher,
    topic: 'facts',
    partitions: PARTITIONS,
    unixMs: () => 0,
    assertTimely: async ({ number }) => {
      if (number > block.number) throw new Error('ahead');
    },
  });
  return { publisher, appends };
}

describe('what was read at a block', () => {
  test('is published in one append that ends with BlockProcessed for every partition, even empty ones', async () => {
    const { publisher, appends } = setUp();
    const [first, second, third] = [makerOf(0), makerOf(0, 1), makerOf(2)];
    await publisher.publishBlock(
      [first, third, second].map((maker) => observed(maker)),
      block,
      ALL,
    );
    expect(appends.map(briefOf)).toEqual([
      [
        `0:MakerObserved:${first}`,
        `2:MakerObserved:${third}`,
        `0:MakerObserved:${second}`,
        '0:BlockProcessed',
        '1:BlockProcessed',
        '2:BlockProcessed',
      ],
    ]);
  });

  test('goes only to the partitions that lack the block', async () => {
    const { publisher, appends } = setUp();
    await publisher.publishBlock([observed(makerOf(2))], block, [2]);
    expect(appends.map(briefOf)).toEqual([[`2:MakerObserved:${makerOf(2)}`, '2:BlockProcessed']]);
  });

  test('is not published if the block is too far ahead of the clock', async () => {
    const { publisher, appends } = setUp();
    const ahead = { ...block, number: 8 };
    const reading = observed(makerOf(0));
    await expect(publisher.publishBlock([], ahead, ALL)).rejects.toThrow('ahead');
    await expect(publisher.publish([{ ...reading, fact: { ...reading.fact, block: ahead } }])).rejects.toThrow('ahead');
    expect(appends).toEqual([]);
  });
});

describe('a record', () => {
  test('has its own id, which a repeat shares, and continues the trace of its request', async () => {
    const { publisher, appends } = setUp();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const maker = makerOf(0);
    await publisher.publish([{ ...observed(maker), trace: { traceparent } }, observed(maker), observed(maker, 1)]);
    const [first, second, third] = appends.flat().map(({ headers }) => headers);
    expect(first?.['traceparent']).toBe(traceparent);
    expect(second?.['traceparent']).toBeUndefined();
    expect(second?.['ce_id']).toBe(first?.['ce_id']);
    expect(third?.['ce_id']).not.toBe(first?.['ce_id']);
  });

  test('is known to be before an offset once it is appended, and not after a failed append', async () => {
    let isAway = false;
    const { publisher } = setUp(async () => {
      if (isAway) throw new LogUnavailable('away', { mayHaveBeenAppended: true });
    });
    const two = [observed(makerOf(0)), observed(makerOf(0, 1))];
    expect(publisher.isBefore(0, 0n)).toBe(true);
    const appending = publisher.publish(two);
    await Promise.resolve();
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
});

test('a resignation goes to partition 0, and a failure to publish it is ignored', async () => {
  const { publisher, appends } = setUp(() =>
    Promise.reject(new LogUnavailable('away', { mayHaveBeenAppended: false })),
  );
  await publisher.resign();
  expect(appends.map(briefOf)).toEqual([['0:WatcherResigned']]);
});
