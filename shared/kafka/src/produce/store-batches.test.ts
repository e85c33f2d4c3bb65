import { expect, test } from '@jest/globals';
import { until } from '@makerbook/parts';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn } from '../cluster/deadline.js';
import { LogUnavailable, RecordTooLarge } from '../failures.js';
import { recordOf } from '../testing/open-test-log.js';
import type { RecordBatch } from './encode-batch.js';
import { GroupCommit } from './group-commit.js';
import { BatchStore } from './store-batches.js';
import type { Transactor } from './transactions.js';

const batchOf = (key: string) => {
  const record = { topic: 't', partition: 0, key, value: Buffer.from(key), headers: {} };
  return { topic: 't', partition: 0, records: [record], bytes: 100 };
};

test('a batch that was reported as not sent is never sent, even if its time is not over by the clock', async () => {
  const sent: string[][] = [];
  const ends: (() => void)[] = [];
  const broker = {
    call: (_api: unknown, _deadline: Deadline, _id: unknown, _timeoutMs: number, batches: readonly RecordBatch[]) =>
      new Promise((_, reject) => {
        sent.push(batches.flatMap(({ records }) => records.map(({ key }) => key)));
        ends.push(() => reject(new LogUnavailable('no answer in time', { mayHaveBeenAppended: true })));
      }),
  };
  const cluster = { leaderOf: async () => broker as unknown as Broker, forgetLayout: () => undefined };
  const store = new BatchStore(cluster as unknown as Cluster);

  const first = store.store(batchOf('first'), deadlineIn(3_000));
  first.catch(() => undefined);
  await until(() => sent.length === 1);

  // The timer of this deadline fires a moment early.
  const early: Deadline = { leftMs: () => 1, passed: () => false, sooner: () => early, half: () => early };
  const second = store.store(batchOf('second'), early);
  await expect(second).rejects.toMatchObject({ name: 'LogUnavailable', mayHaveBeenAppended: false });
  ends[0]?.();
  await until('the first one is sent again', () => sent.length === 2);
  expect(sent).toEqual([['first'], ['first']]);
  ends[1]?.();
  await expect(first).rejects.toMatchObject({ mayHaveBeenAppended: true });
});

test('a call with hardly any time left is not sent: it would cut off the others in its request', async () => {
  const requests: { readonly keys: readonly string[]; readonly leftMs: number; readonly answer: () => void }[] = [];
  const call = (...[, deadline, , , batches]: readonly [unknown, Deadline, unknown, number, readonly RecordBatch[]]) =>
    new Promise((resolve) => {
      const stored = batches.map(({ partition }) => ({ index: partition, errorCode: 0, baseOffset: 0n }));
      const answer = () => resolve({ responses: [{ name: 't', partitionResponses: stored }] });
      const keys = batches.flatMap(({ records }) => records.map(({ key }) => key));
      requests.push({ keys, leftMs: deadline.leftMs(), answer });
    });
  const broker = { call };
  const cluster = { leaderOf: async () => broker, forgetLayout: () => undefined };
  const store = new BatchStore(cluster as unknown as Cluster);
  const hanging = store.store(batchOf('hanging'), deadlineIn(60_000));
  await until(() => requests.length === 1);

  let leftMs = 60_000;
  const nearly: Deadline = { leftMs: () => leftMs, passed: () => false, sooner: (other) => other, half: () => nearly };
  const waiting = store.store(batchOf('waiting'), nearly);
  waiting.catch(() => undefined);
  const fresh = ['a', 'b'].map((key) => store.store(batchOf(key), deadlineIn(60_000)));
  await new Promise((resolve) => setTimeout(resolve, 20));
  leftMs = 400;
  requests[0]?.answer();
  await expect(waiting).rejects.toMatchObject({ mayHaveBeenAppended: false });
  await until(() => requests.length === 2);
  requests[1]?.answer();
  await Promise.all([hanging, ...fresh]);
  expect(requests.map(({ keys }) => keys)).toEqual([['hanging'], ['a', 'b']]);
  expect(requests[1]?.leftMs).toBeGreaterThan(5_000);
});

/** Opens an appender to a broker that stores everything, and lists the keys of each batch of each request. */
function openAppender() {
  const requests: (readonly string[])[][] = [];
  const call = async (...[, , , , batches]: readonly [unknown, Deadline, unknown, number, readonly RecordBatch[]]) => {
    requests.push(batches.map(({ records }) => records.map(({ key }) => key)));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const stored = batches.map(({ partition }) => ({ index: partition, errorCode: 0, baseOffset: 0n }));
    return { responses: [{ name: 't', partitionResponses: stored }] };
  };
  const broker = { call };
  const store = new BatchStore({ leaderOf: async () => broker } as unknown as Cluster);
  return { requests, store, appender: new GroupCommit(store, noTransactor, { timeoutMs: 60_000 }) };
}
const noTransactor = () => ({}) as Transactor;

test('calls made during a request share the next one, and calls for one partition share a batch', async () => {
  const { requests, appender } = openAppender();
  const first = appender.append([recordOf('t', 0, 'first')]);
  await until(() => requests.length === 1);
  const keys = Array.from({ length: 200 }, (_, n) => `${n}`);
  await Promise.all([first, ...keys.map((key, n) => appender.append([recordOf('t', n % 4, key)]))]);
  const ofPartition = (partition: number) => keys.filter((_, n) => n % 4 === partition);
  expect(requests).toEqual([[['first']], [0, 1, 2, 3].map(ofPartition)]);
});

test('batches of several producers share a request, and none is merged with another', async () => {
  const { requests, store } = openAppender();
  const batches = Array.from({ length: 12 }, (_, n) => {
    return { ...batchOf(`${n}`), partition: n % 6, producer: { id: BigInt(n), epoch: 0, sequence: 0 } };
  });
  await Promise.all(batches.map((batch) => store.store(batch, deadlineIn(60_000))));
  const keys = batches.map((_, n) => [`${n}`]);
  expect(requests).toEqual([keys.slice(0, 6), keys.slice(6)]);
});

test('a batch never grows beyond its bound, and one call is never cut in two', async () => {
  const { requests, appender } = openAppender();
  const names = ['a', 'b', 'c', 'd'];
  const keysOf = (name: string) => [0, 1, 2].map((n) => `${name}${n}`);
  const call = (name: string) => appender.append(keysOf(name).map((key) => recordOf('t', 0, key, 'x'.repeat(80_000))));
  await Promise.all(names.map(call));
  expect(requests).toEqual(names.map((name) => [keysOf(name)]));
  const tooLarge = recordOf('t', 0, 'k', 'x'.repeat(450_000));
  await expect(appender.append([tooLarge])).rejects.toBeInstanceOf(RecordTooLarge);
});

test.each([
  ['NOT_LEADER_OR_FOLLOWER', 6, true],
  ['UNKNOWN_TOPIC_OR_PARTITION', 3, true],
  ['NOT_ENOUGH_REPLICAS', 19, false],
])(
  'a leader that said %s once may have stored the batch, whatever others say later: %i, %s',
  async (_name, code, may) => {
    const codes = [code];
    const call = async () => {
      const errorCode = codes.shift() ?? 19;
      return { responses: [{ name: 't', partitionResponses: [{ index: 0, errorCode, baseOffset: -1n }] }] };
    };
    const cluster = { leaderOf: async () => ({ call }), forgetLayout: () => undefined } as unknown as Cluster;
    const stored = new BatchStore(cluster).store(batchOf('a'), deadlineIn(600));
    await expect(stored).rejects.toMatchObject({ mayHaveBeenAppended: may });
    expect(codes).toEqual([]);
  },
);

test('at most 64 MiB wait for Kafka, and failed calls make room again', async () => {
  const noLeader = () => Promise.reject(new LogUnavailable('no leader', { mayHaveBeenAppended: false }));
  const cluster = { leaderOf: noLeader, forgetLayout: () => undefined } as unknown as Cluster;
  const appender = new GroupCommit(new BatchStore(cluster), noTransactor, { timeoutMs: 300 });
  const record = { topic: 't', partition: 0, key: '', value: Buffer.alloc(800_000), headers: {} };
  const countRefused = async () => {
    const calls = await Promise.allSettled(Array.from({ length: 90 }, () => appender.append([record])));
    return calls.filter((call) => call.status === 'rejected' && /already waiting/.test(String(call.reason))).length;
  };
  expect([await countRefused(), await countRefused()]).toEqual([7, 7]);
});
