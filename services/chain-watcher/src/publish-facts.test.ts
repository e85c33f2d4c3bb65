import { describe, expect, test } from '@jest/globals';
import { type BlockRef, type Cause, decodeMakerEvent, type Hex, type MakerFact } from '@makerbook/contracts-events';
import { type Appender, type LogRecord, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { createFactPublisher } from './publish-facts.js';

const PARTITIONS = 3;
const block: BlockRef = { number: 7, hash: `0x${'77'.repeat(32)}`, timestamp: 1_700_000_000 };
const token: Hex = `0x${'b1'.repeat(20)}`;
const READ: Cause = { kind: 'read', occasion: 'SWEEP' };

/** Makers of a partition, always the same ones. */
const makersOf = (partition: number, count: number): Hex[] => {
  const found: Hex[] = [];
  for (let n = 1; found.length < count; n += 1) {
    const maker: Hex = `0x${n.toString(16).padStart(40, '0')}`;
    if (partitionOf(maker, PARTITIONS) === partition) found.push(maker);
  }
  return found;
};
const makerOf = (partition: number, at = 0): Hex => makersOf(partition, at + 1)[at] ?? '0x';

const balance = (maker: Hex, value: Hex = '0x1', cause: Cause = READ): MakerFact => ({
  type: 'BalanceChanged',
  ...{ maker, token, balance: value, block, cause },
});
const allowance = (maker: Hex): MakerFact => ({
  type: 'AllowanceChanged',
  ...{ maker, token, allowance: '0x2', block, cause: READ },
});
const nonce = (maker: Hex): MakerFact => ({ type: 'NonceChanged', maker, nonce: '0x3', block, cause: READ });
const fill = (maker: Hex, n = 0): MakerFact => {
  const orderHash: Hex = `0x${(n + 1).toString(16).padStart(64, '0')}`;
  return { type: 'OrderFilled', maker, orderHash, filledMakingAmount: '0x4', block, cause: READ };
};

/** What an append was asked for, in short: the partition and each record's type and maker. */
const briefOf = (records: readonly LogRecord[]) =>
  records.map((record) => {
    const fact = decodeMakerEvent(record);
    if ('unreadable' in fact) throw new Error(fact.unreadable);
    const maker = 'maker' in fact ? `:${fact.maker}` : '';
    return `${record.partition}:${fact.type}${maker}${'hasMore' in fact ? '+' : ''}`;
  });
const idsOf = (appends: readonly (readonly LogRecord[])[]) =>
  appends.flat().map(({ headers }) => headers['ce_id'] ?? '');

/** A publisher, and what it appended. An append waits for `answer` where that is given. */
function setUp(
  answer: (records: readonly LogRecord[]) => Promise<void> = async () => undefined,
  batchFactsMax?: number,
) {
  const appends: (readonly LogRecord[])[] = [];
  const appender = {
    append: async (records: readonly LogRecord[]) => {
      appends.push(records);
      await answer(records);
      return [];
    },
  } as unknown as Appender;
  const publisher = createFactPublisher({ appender, topic: 'facts', partitions: PARTITIONS, batchFactsMax });
  /** @param held partitions that hold the block already */
  const publishBlock = (
    facts: readonly MakerFact[],
    held: readonly number[] = [],
    isNews: (fact: MakerFact) => boolean = () => true,
  ) =>
    publisher.publishBlock(
      facts,
      block,
      (partition) => BigInt(partition * 10),
      (partition) => held.includes(partition),
      isNews,
    );
  return { publisher, publishBlock, appends };
}

describe('the facts of a block', () => {
  test('and its BlockProcessed go to each partition in one append, whether there are facts or not', async () => {
    const [first, second] = [makerOf(0), makerOf(0, 1)];
    const third = makerOf(2);
    const { publishBlock, appends } = setUp();
    await publishBlock([fill(first), balance(second), balance(third), nonce(first), balance(first)]);
    expect(appends.map(briefOf)).toEqual([
      [
        `0:NonceChanged:${first}+`,
        `0:BalanceChanged:${first}+`,
        `0:OrderFilled:${first}`,
        `0:BalanceChanged:${second}`,
        '0:BlockProcessed',
      ],
      ['1:BlockProcessed'],
      [`2:BalanceChanged:${third}`, '2:BlockProcessed'],
    ]);
    expect(appends.flat().map(({ topic, key }) => ({ topic, key }))).toEqual(
      [first, first, first, second, '', '', third, ''].map((key) => ({ topic: 'facts', key })),
    );
  });

  test('may be as many as a batch holds, by default 500 with the BlockProcessed', async () => {
    const fills = (count: number) => Array.from({ length: count }, (_, n) => fill(makerOf(1), n));
    const { publishBlock, appends } = setUp();
    await publishBlock(fills(499), [0, 2]);
    await publishBlock(fills(500), [0, 2]);
    expect(appends.map(({ length }) => length)).toEqual([500, 500, 1]);
    expect(briefOf(appends[2] ?? [])).toEqual(['1:BlockProcessed']);
  });

  test('beyond that go before it, makers whole, in the order in which they are read', async () => {
    const [first = '0x', second = '0x', third = '0x'] = makersOf(1, 3);
    const { publishBlock, appends } = setUp(undefined, 4);
    await publishBlock(
      [balance(first), allowance(first), nonce(first), balance(second), nonce(second), balance(third)],
      [0, 2],
    );
    expect(appends.map(briefOf)).toEqual([
      [`1:NonceChanged:${first}+`, `1:BalanceChanged:${first}+`, `1:AllowanceChanged:${first}`],
      [`1:NonceChanged:${second}+`, `1:BalanceChanged:${second}`, `1:BalanceChanged:${third}`, '1:BlockProcessed'],
    ]);
  });

  test('of one maker go in several batches only where one does not hold them', async () => {
    const [first, second] = [makerOf(1), makerOf(1, 1)];
    const { publishBlock, appends } = setUp(undefined, 2);
    await publishBlock([balance(first), ...[0, 1, 2].map((n) => fill(second, n)), nonce(second)], [0, 2]);
    expect(appends.map(briefOf)).toEqual([
      [`1:BalanceChanged:${first}`],
      [`1:NonceChanged:${second}+`, `1:OrderFilled:${second}+`],
      [`1:OrderFilled:${second}+`, `1:OrderFilled:${second}`],
      ['1:BlockProcessed'],
    ]);
  });

  test('wait for the batch before them, of the same maker and of another one', async () => {
    const answers: (() => void)[] = [];
    const { publishBlock, appends } = setUp(() => new Promise((resolve) => answers.push(resolve)), 1);
    const published = publishBlock([balance(makerOf(1)), nonce(makerOf(1)), balance(makerOf(1, 1))], [0, 2]);
    for (const batches of [1, 2, 3, 4]) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(appends).toHaveLength(batches);
      answers[batches - 1]?.();
    }
    await published;
    expect(briefOf(appends[3] ?? [])).toEqual(['1:BlockProcessed']);
  });
});

describe('a partition that holds the block already', () => {
  test('gets what is news alone, and no second BlockProcessed; the others get everything', async () => {
    const [held, heldToo, unheld] = [makerOf(0), makerOf(0, 1), makerOf(1)];
    const { publishBlock, appends } = setUp();
    const facts = [held, unheld].flatMap((maker) => [balance(maker), nonce(maker)]);
    await publishBlock([...facts, balance(heldToo)], [0, 2], (fact) => fact.type === 'NonceChanged');
    expect(appends.map(briefOf)).toEqual([
      [`0:NonceChanged:${held}`],
      [`1:NonceChanged:${unheld}+`, `1:BalanceChanged:${unheld}`, '1:BlockProcessed'],
    ]);
  });

  test('gets nothing where there is no news', async () => {
    const { publishBlock, appends } = setUp();
    await publishBlock([balance(makerOf(0))], [0, 1, 2], () => false);
    expect(appends).toEqual([]);
  });
});

describe('an append that fails', () => {
  /** Partition 0 fails at once, and partition 2 is answered when the test says so. */
  const setUpFailing = () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const failing = setUp(async ([record]) => {
      if (record?.partition === 0) throw new LogUnavailable('away', { mayHaveBeenAppended: false });
      if (record?.partition === 2) await answered;
    }, 1);
    return { ...failing, answer: () => answer() };
  };
  const facts = [balance(makerOf(0)), balance(makerOf(2))];

  test.each<[string, (of: ReturnType<typeof setUp>) => Promise<void>, number]>([
    ['of a block', ({ publishBlock }) => publishBlock(facts), 2],
    ['of facts alone', ({ publisher }) => publisher.publish(facts), 1],
  ])('%s is thrown once the others are done', async (_what, publish, batches) => {
    const failing = setUpFailing();
    let outcome = 'waits';
    const done = publish(failing).then(
      () => {
        outcome = 'published';
      },
      (error: Error) => {
        outcome = error.name;
      },
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(outcome).toBe('waits');
    failing.answer();
    await done;
    expect(outcome).toBe('LogUnavailable');
    const of = (partition: number) => failing.appends.filter(([record]) => record?.partition === partition);
    expect(of(2)).toHaveLength(batches);
    // What comes after the failed batch is not stored without it.
    expect(of(0)).toHaveLength(1);
  });
});

describe('facts alone', () => {
  test('go to their partitions in one append each, with the traces of their requests', async () => {
    const { publisher, appends } = setUp();
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    const facts = [balance(makerOf(0)), nonce(makerOf(0)), nonce(makerOf(2))];
    await publisher.publish(facts, ({ type }) => (type === 'BalanceChanged' ? traceparent : undefined));
    expect(appends.map(briefOf)).toEqual([
      [`0:NonceChanged:${makerOf(0)}+`, `0:BalanceChanged:${makerOf(0)}`],
      [`2:NonceChanged:${makerOf(2)}`],
    ]);
    expect(appends.flat().map(({ headers }) => headers['traceparent'])).toEqual([undefined, traceparent, undefined]);
    expect(new Set(appends.flat().map(({ headers }) => headers['ce_time']))).toEqual(
      new Set([new Date(block.timestamp * 1000).toISOString()]),
    );
  });
});

describe('the id of a message', () => {
  const maker = makerOf(0);

  test('is block, type, maker, token or order, cause, and whether more follows', async () => {
    const { publishBlock, appends } = setUp();
    await publishBlock([balance(maker), fill(maker), nonce(maker)], [1, 2]);
    expect(idsOf(appends)).toEqual([
      `7:NonceChanged:${maker}:SWEEP:more`,
      `7:BalanceChanged:${maker}:${token}:SWEEP:more`,
      `7:OrderFilled:${maker}:0x${'0'.repeat(63)}1:SWEEP`,
      '7:BlockProcessed:0:0',
    ]);
  });

  test('of BlockProcessed is block, partition, and which orders were known', async () => {
    const { publishBlock, appends } = setUp();
    await publishBlock([]);
    expect(idsOf(appends)).toEqual(['7:BlockProcessed:0:0', '7:BlockProcessed:1:10', '7:BlockProcessed:2:20']);
    expect(appends.flat().map((record) => decodeMakerEvent(record))).toEqual(
      ['0', '10', '20'].map((knownOffset) => ({ type: 'BlockProcessed', block, knownOffset })),
    );
  });

  test('is the same for the same fact, and another one for another cause', async () => {
    const { publisher, appends } = setUp();
    const transactionHash: Hex = `0x${'88'.repeat(32)}`;
    const causes: Cause[] = [
      READ,
      READ,
      { kind: 'read', occasion: 'ORDER' },
      { kind: 'log', transactionHash, logIndex: 1 },
      { kind: 'log', transactionHash, logIndex: 2 },
    ];
    for (const cause of causes) await publisher.publish([balance(maker, '0x1', cause)]);
    const start = `7:BalanceChanged:${maker}:${token}`;
    expect(idsOf(appends)).toEqual([
      ...[`${start}:SWEEP`, `${start}:SWEEP`, `${start}:ORDER`],
      ...[`${start}:${transactionHash}:1`, `${start}:${transactionHash}:2`],
    ]);
  });
});
