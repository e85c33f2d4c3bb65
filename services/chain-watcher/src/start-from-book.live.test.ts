import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { encodeResumeRecord, type TopicNames, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog, type Log } from '@makerbook/kafka';
import { createChance, testParts } from '@makerbook/local-stack';
import { silentLogger } from '@makerbook/telemetry';
import { followLog } from './follow-log.js';
import { WatchedSet } from './keep-watched-set.js';
import { openProjector, type ProjectorProcess } from './testing/run-projector.js';
import { type History, writeHistory } from './testing/write-history.js';

const PARTITIONS = 3;
let log: Log;
let projector: ProjectorProcess;
let topics: TopicNames;
let noBook: TopicNames;

async function open(seed: number, makers = 6): Promise<History> {
  const prefix = `book-${randomBytes(4).toString('hex')}.`;
  topics = topicNames(prefix);
  noBook = { ...topicNames(`${prefix}none.`), makerEvents: topics.makerEvents };
  log = connectLog({ brokers: testParts().kafkaBrokers.split(','), clientId: 'start', logger: silentLogger });
  const specs = [...topicSpecs(topics, PARTITIONS), ...topicSpecs(noBook, PARTITIONS).slice(1)];
  await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor: 1 })));
  projector = await openProjector(prefix, PARTITIONS);
  projector.start();
  return writeHistory({
    seed,
    appender: log.createAppender({ timeoutMs: 60_000 }),
    topic: topics.makerEvents,
    partitions: PARTITIONS,
    makers,
  });
}
afterEach(async () => {
  await projector.end('SIGKILL');
  await log.close();
});

/** What a watcher that starts now would watch. */
async function start(from: TopicNames) {
  const watched = new WatchedSet(PARTITIONS);
  const startedAtMs = performance.now();
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const followed = followLog({
    log,
    topics: from,
    partitions: PARTITIONS,
    watched,
    logger: silentLogger,
    onCaughtUp: () => undefined,
    onOpened: () => undefined,
    onFatal: fail,
  });
  await Promise.race([followed.caughtUp, failed]);
  const tookMs = Math.round(performance.now() - startedAtMs);
  await followed.stop();
  return { watched, tookMs, records: followed.counts().records };
}

function openOrders(watched: WatchedSet): number[] {
  const slots = Array.from({ length: watched.slotsEnd }, (_, slot) => slot);
  return slots.filter((slot) => watched.isMakerWatched(slot)).flatMap((maker) => watched.ordersOf(maker));
}

function describeWatched(watched: WatchedSet): string[] {
  const lines = openOrders(watched).map((order) => {
    const pair = watched.pairOf(order);
    return `${watched.orderHash(order)} of ${watched.makerAddress(watched.makerOf(pair))} ${watched.tokenAddress(pair)}`;
  });
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    lines.push(`partition ${partition} stands at ${JSON.stringify(watched.lastBlock(partition))}`);
  }
  return [...lines, JSON.stringify({ ...watched.sizes(), hashes: undefined })].sort();
}
/** Nothing may be taken for known that the log read from its beginning does not say. */
function assertNothingInvented(fromBook: WatchedSet, fromBeginning: WatchedSet): void {
  for (const order of openOrders(fromBook)) {
    const pair = fromBook.pairOf(order);
    const maker = fromBook.makerAddress(fromBook.makerOf(pair));
    const there = fromBeginning.findPair(fromBook.tokenAddress(pair), maker);
    if (fromBook.isFunded(pair)) expect(fromBeginning.isFunded(there)).toBe(true);
    const { balance, allowance } = fromBook.funding(pair);
    const known = fromBeginning.funding(there);
    expect({ balance, allowance }).toEqual({
      balance: balance === undefined ? undefined : known.balance,
      allowance: allowance === undefined ? undefined : known.allowance,
    });
    const makerThere = fromBeginning.makerOf(there);
    if (!fromBook.isNonceWatched(fromBook.makerOf(pair))) continue;
    expect(fromBeginning.isNonceWatched(makerThere)).toBe(true);
    expect(fromBook.nonceOf(fromBook.makerOf(pair))).toBe(fromBeginning.nonceOf(makerThere));
  }
}

/** What the book says is judged may be missing among the unread ones: the log says that its funds and nonce are known. */
function assertUnreadOnesAreKnown(fromBook: WatchedSet, fromBeginning: WatchedSet): void {
  const unread = new Set(fromBook.unreadOrders().map((order) => fromBook.orderHash(order)));
  for (const order of fromBeginning.unreadOrders()) {
    if (unread.has(fromBeginning.orderHash(order))) continue;
    const pair = fromBeginning.pairOf(order);
    expect(fromBeginning.isFunded(pair) && fromBeginning.isNonceWatched(fromBeginning.makerOf(pair))).toBe(true);
  }
}

describe('a start from the book', () => {
  test.each([1, 2, 3])(
    'watches what a start from the beginning watches, seed %s: projector behind, killed, or done',
    async (seed) => {
      const { below } = createChance(seed * 1000);
      const history = await open(seed);
      let bounded = 0;
      // And on, until a start was bounded: on a busy machine the projector may need longer to get anywhere.
      for (let round = 0; round < 6 || bounded === 0; round += 1) {
        await history.write(100 + below(400));
        if (round < 6 && below(3) === 0) {
          await projector.end(below(2) === 0 ? 'SIGTERM' : 'SIGKILL');
          projector.start();
        }
        await new Promise((resolve) => setTimeout(resolve, below(2500)));
        const fromBook = await start(topics);
        const fromBeginning = await start(noBook);
        expect(fromBeginning.records).toBe(history.records());
        if (fromBook.records < fromBeginning.records) bounded += 1;
        expect(describeWatched(fromBook.watched)).toEqual(describeWatched(fromBeginning.watched));
        assertUnreadOnesAreKnown(fromBook.watched, fromBeginning.watched);
        assertNothingInvented(fromBook.watched, fromBeginning.watched);
      }
    },
    420_000,
  );

  test('reads a number of facts that does not follow the length of the log', async () => {
    const history = await open(7, 3);
    await history.writeOpenOrders(50);
    await history.writeBlocks(20_000);
    let fromBook = await start(topics);
    // The projector has to get there first, and says so with a later block: on a chain there is always one more.
    while (fromBook.records >= 6000) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await history.writeBlocks(1);
      fromBook = await start(topics);
    }
    const fromBeginning = await start(noBook);
    expect(fromBeginning.records).toBe(history.records());
    expect(describeWatched(fromBook.watched)).toEqual(describeWatched(fromBeginning.watched));
    expect(fromBook.watched.sizes().orders).toBe(50);
  }, 420_000);

  test('is refused where the book is of another log', async () => {
    await open(8);
    await projector.end('SIGKILL');
    const position = { partition: 1, offset: '1000000' };
    const record = encodeResumeRecord({ type: 'BookPosition', position }, { id: '1', source: '/test', timeMs: 0 });
    await log
      .createAppender({ timeoutMs: 60_000 })
      .append([{ topic: topics.resume, partition: 1, ...record, key: record.key ?? '' }]);
    await expect(start(topics)).rejects.toThrow(/partition 1 of .*maker-events.* belongs to another log/);
  });
});
