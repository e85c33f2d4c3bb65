import { expect, test } from '@jest/globals';
import { encodeMakerEvent, type MakerEvent, topicNames } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { FatalError, type FollowOptions, type Log, partitionOf } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { silentLogger } from '@makerbook/telemetry';
import type { ProjectedPartition } from '../store/read-open-orders.js';
import { FollowedLog } from './follow-log.js';
import { WatchedSet } from './watched-set.js';

const topics = topicNames();
const maker: Address = `0x${'11'.repeat(20)}`;
const other: Address = `0x${'12'.repeat(20)}`;
const protocol: Address = `0x${'13'.repeat(20)}`;
const hashOf = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;

function submittedOf(n: number, whose: Address): MakerEvent {
  const terms = { salt: '0x1', nonce: '0x0', expiresAt: '0xffffffff', maker: whose, permittedTaker: maker } as const;
  const amounts = { making: { token: other, amount: '0x1' }, taking: { token: maker, amount: '0x1' } } as const;
  const cause = { kind: 'request', requestId: 'test' } as const;
  const signature: Hex = `0x${'5'.repeat(130)}`;
  const order = { ...terms, ...amounts };
  return { type: 'OrderSubmitted', maker: whose, orderHash: hashOf(n), order, signature, acceptedAtMs: 0, cause };
}

/** A log with these facts, and a function that appends one more. */
function openLog(partitions: number, facts: readonly (readonly [partition: number, fact: MakerEvent])[] = []) {
  const log = new LogInMemory({ partitions });
  const put = (partition: number, fact: MakerEvent, storedByMs?: number) => {
    const message = encodeMakerEvent(fact, { id: 'test', source: '/test', timeMs: 0, storedByMs });
    log.store([{ topic: topics.makerEvents, partition, ...message, key: maker }]);
  };
  for (const [partition, fact] of facts) put(partition, fact);
  return { log, put, partitions };
}

async function follow({ log, partitions }: ReturnType<typeof openLog>, starts: readonly ProjectedPartition[] = []) {
  const onFatal = (error: Error) => {
    throw error;
  };
  const watched = new WatchedSet();
  const parts = {
    log: log.connect(),
    topics,
    partitions,
    watched,
    logger: silentLogger,
    monotonicMs: () => 0,
    onFatal,
  };
  const followed = new FollowedLog(parts);
  await followed.start(starts);
  /** Numbers of the watched orders among the first three. */
  const orders = () => [1, 2, 3].filter((n) => watched.findOrder(hashOf(n)) >= 0);
  return { watched, followed, orders };
}
const snapshot = { partition: 0, nextOffset: 0n, block: undefined, newestRead: -1, makers: [], quarantined: new Map() };

test('facts that came too late change nothing', async () => {
  const log = openLog(1, [[0, submittedOf(1, maker)]]);
  const cancelled = {
    type: 'OrderCancelled',
    maker,
    expiresAtSeconds: 9,
    cause: { kind: 'request', requestId: 'r' },
  } as const;
  log.put(0, { ...cancelled, orderHash: hashOf(1) }, -1);
  log.put(0, submittedOf(2, maker), -1);
  log.put(0, submittedOf(3, maker), Number.MAX_SAFE_INTEGER);
  expect((await follow(log)).orders()).toEqual([1, 3]);
});

test('a reading in a partition that is not its maker’s does not count', async () => {
  const own = partitionOf(maker, 2);
  const block = { number: 5, hash: hashOf(5), timestamp: 5 };
  const cause = { kind: 'read', occasion: 'SWEEP' } as const;
  const orders = [{ orderHash: hashOf(1), filled: '0x0', cancelled: false }] as const;
  const observed: MakerEvent = { type: 'MakerObserved', maker, block, cause, funds: [], orders: [...orders] };
  const log = openLog(2, [
    [own, submittedOf(1, maker)],
    [1 - own, observed],
  ]);
  const { watched, followed } = await follow(log);
  expect([watched.unread.size, followed.newestRead]).toEqual([1, -1]);
  log.put(own, observed);
  while (watched.unread.size > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(followed.newestRead).toBe(5);
});

test('no reading goes back behind those of the snapshot, which may be newer than its block', async () => {
  const start = { ...snapshot, block: { number: 7, timestamp: 7 }, newestRead: 9 };
  expect((await follow(openLog(1), [start])).followed.newestRead).toBe(9);
});

test('a take-over goes on at the oldest of the partitions’ newest blocks', async () => {
  const log = openLog(3, [
    [0, blockOf(5)],
    [1, blockOf(7)],
  ]);
  const { followed } = await follow(log);
  expect([followed.oldestBlock()?.number, followed.newestBlock()?.number]).toEqual([5, 7]);
});

const blockOf = (number: number): MakerEvent => {
  return { type: 'BlockProcessed', block: { number, hash: hashOf(number), timestamp: number } };
};
/** Waits until the watcher has read all of partition 0. */
async function readTo(followed: FollowedLog, position: bigint) {
  while ((followed.partitions[0]?.position ?? 0n) < position) await new Promise((resolve) => setTimeout(resolve, 1));
}

test('fills of a new maker’s order after block 5 are looked for from block 6, whoever else is new', async () => {
  const log = openLog(1, [
    [0, submittedOf(1, maker)],
    [0, blockOf(5)],
  ]);
  const { followed } = await follow(log);
  const take = () => followed.takeMissed().from;
  take();
  expect(take()).toBe(Number.POSITIVE_INFINITY);
  log.put(0, submittedOf(2, maker));
  log.put(0, submittedOf(3, other));
  log.put(0, blockOf(6));
  log.put(0, submittedOf(4, protocol));
  await readTo(followed, 6n);
  expect([take(), take()]).toEqual([6, Number.POSITIVE_INFINITY]);
});

test('a maker is known only once the fills since its admission or first order are looked for', async () => {
  const admitted: MakerEvent = { type: 'MakerAdmitted', maker, cause: { kind: 'operator', commandId: 'c' } };
  const log = openLog(1, [[0, blockOf(5)]]);
  const { followed, watched } = await follow(log);
  followed.takeMissed();
  log.put(0, admitted);
  log.put(0, submittedOf(1, other));
  await readTo(followed, 3n);
  expect([watched.knows(maker), watched.knows(other), watched.findOrder(hashOf(1))]).toEqual([false, false, 0]);
  expect(followed.takeMissed()).toEqual({ from: 6, makers: new Set([maker, other]) });
  expect([watched.knows(maker), watched.knows(other)]).toEqual([true, true]);
});

test('misplaced facts are ignored, as in the projector', async () => {
  const home = partitionOf(maker, 2);
  const { orders } = await follow(
    openLog(2, [
      [1 - home, submittedOf(1, maker)],
      [home, submittedOf(2, maker)],
      [home, { ...submittedOf(3, other), maker } as MakerEvent],
    ]),
  );
  expect(orders()).toEqual([2]);
});

test('an order leaves if its own maker, and no other, cancels it, or a reading finds it cancelled', async () => {
  const cancelOf = (n: number, whose: Address): MakerEvent => {
    const cause = { kind: 'request', requestId: 'test' } as const;
    return { type: 'OrderCancelled', maker: whose, orderHash: hashOf(n), expiresAtSeconds: 0, cause };
  };
  const submitted = [1, 2, 3].map((n) => [0, submittedOf(n, maker)] as const);
  const given = openLog(1, submitted);
  const { followed, orders } = await follow(given);
  given.put(0, cancelOf(2, maker));
  given.put(0, cancelOf(1, other));
  await readTo(followed, 5n);
  expect(orders()).toEqual([1, 3]);
  const block = { number: 6, hash: hashOf(6), timestamp: 6 };
  const cause = { kind: 'read', occasion: 'ORDER' } as const;
  const read = { orderHash: hashOf(3), filled: '0x0', cancelled: true } as const;
  given.put(0, { type: 'MakerObserved', maker, block, cause, funds: [], orders: [read] });
  await readTo(followed, 6n);
  expect(orders()).toEqual([1]);
});

test('a log whose beginning is gone halts the watcher', async () => {
  const fatal = Promise.withResolvers<Error>();
  const followTopic = ({ onFatal }: FollowOptions) => {
    onFatal?.(new FatalError('log/1 is stored from offset 3 on, but offset 0 is wanted'));
    return { caughtUp: new Promise(() => undefined), positions: () => [], stop: async () => undefined };
  };
  const log = { followTopic } as unknown as Pick<Log, 'followTopic'>;
  const onFatal = fatal.resolve;
  const watched = new WatchedSet();
  const parts = { log, topics, partitions: 2, watched, logger: silentLogger, monotonicMs: () => 0, onFatal };
  void new FollowedLog(parts).start([]);
  expect(await fatal.promise).toMatchObject({
    name: 'LogContradiction',
    message: expect.stringContaining('offset 0 is wanted'),
  });
});
