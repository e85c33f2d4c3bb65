import { expect, test } from '@jest/globals';
import { until } from '@makerbook/parts';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn } from '../cluster/deadline.js';
import { LogUnavailable } from '../failures.js';
import { NO_PRODUCER, type RecordBatch } from './encode-batch.js';
import { GroupCommit } from './group-commit.js';
import { BatchStore } from './store-batches.js';

const batchOf = (key: string) => {
  const record = { topic: 't', partition: 0, key, value: Buffer.from(key), headers: {} };
  return { topic: 't', partition: 0, records: [record], bytes: 100, ...NO_PRODUCER };
};

test('a batch whose caller was told that it was not sent is never sent, though by the clock its time is not over', async () => {
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

  // Its timer comes a moment before its time.
  const early: Deadline = { leftMs: () => 1, passed: () => false, sooner: () => early, half: () => early };
  const second = store.store(batchOf('second'), early);
  await expect(second).rejects.toMatchObject({ name: 'LogUnavailable', mayHaveBeenAppended: false });
  ends[0]?.();
  await until('the first one is sent again', () => sent.length === 2);
  expect(sent).toEqual([['first'], ['first']]);
  ends[1]?.();
  await expect(first).rejects.toMatchObject({ mayHaveBeenAppended: true });
});

test('64 MiB wait for Kafka and no more, and what has failed makes room again', async () => {
  const noLeader = () => Promise.reject(new LogUnavailable('no leader', { mayHaveBeenAppended: false }));
  const cluster = { leaderOf: noLeader, forgetLayout: () => undefined } as unknown as Cluster;
  const appender = new GroupCommit({ cluster, transactions: cluster, transactionalId: 't' }, { timeoutMs: 300 });
  const record = { topic: 't', partition: 0, key: '', value: Buffer.alloc(800_000), headers: {} };
  const countRefused = async () => {
    const calls = await Promise.allSettled(Array.from({ length: 90 }, () => appender.append([record])));
    return calls.filter((call) => call.status === 'rejected' && /already waiting/.test(String(call.reason))).length;
  };
  expect([await countRefused(), await countRefused()]).toEqual([7, 7]);
});
