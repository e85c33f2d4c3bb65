import { afterAll, describe, expect, test } from '@jest/globals';
import { testParts } from '@makerbook/parts';
import type { Broker } from '../cluster/broker.js';
import { Cluster } from '../cluster/cluster.js';
import { LogUnavailable, RecordTooLarge } from '../failures.js';
import { makeTopic, openTestLog, quiet, readAll, recordOf } from '../testing/open-test-log.js';
import { GroupCommit } from './group-commit.js';
import { BatchStore } from './store-batches.js';
import { takeProducerId } from './take-producer-id.js';
import { Transactor } from './transactions.js';

const log = openTestLog();
afterAll(() => log.close());

/** Loses the answer to the next request to a leader, after the broker has done the work. */
class LosingCluster extends Cluster {
  loses = false;
  override async leaderOf(...place: Parameters<Cluster['leaderOf']>): Promise<Broker> {
    const leader = await super.leaderOf(...place);
    const call = async (...request: Parameters<Broker['call']>) => {
      const answer = await leader.call(...request);
      if (!this.loses) return answer;
      this.loses = false;
      throw new LogUnavailable('the answer is lost', { mayHaveBeenAppended: true });
    };
    return { call } as unknown as Broker;
  }
}

describe('appending', () => {
  test('answers with the offsets, and a reader sees the records in the order of the calls', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    const calls = Array.from({ length: 30 }, (_, call) =>
      [0, 1, 2].map((n) => recordOf(topic, call % 2, `${call}.${n}`)),
    );
    const answers = await Promise.all(calls.map((records) => appender.append(records)));
    const seen = await readAll(log, topic);
    calls.forEach((records, call) => {
      records.forEach((record, n) => {
        const { partition, offset } = answers[call]?.[n] ?? { partition: -1, offset: -1n };
        expect(seen[partition]?.[Number(offset)]).toBe(record.key);
      });
    });
    expect(seen[0]).toEqual(
      calls.filter((_, call) => call % 2 === 0).flatMap((records) => records.map(({ key }) => key)),
    );
  });

  test('stores all records of a partition, even if one batch cannot hold them', async () => {
    const topic = await makeTopic(log, 1);
    const records = Array.from({ length: 1_500 }, (_, n) => recordOf(topic, 0, String(n), String(n).padStart(1_000)));
    const appended = await log.createAppender().append(records);
    const keys = records.map(({ key }) => key);
    expect(appended.map(({ offset }) => offset)).toEqual(keys.map((key) => BigInt(key)));
    const [seen = []] = await readAll(log, topic);
    expect(seen.map((value) => value.trimStart())).toEqual(keys);
  });

  test('stores a batch whose answer is lost once with a producer id, and twice without one', async () => {
    const topic = await makeTopic(log, 1);
    const cluster = new LosingCluster({ brokers: [testParts().kafkaBrokers], clientId: 'test', logger: quiet });
    const openTransactor = () =>
      new Transactor(cluster, { transactionalId: topic, ownPartitions: [], timeoutMs: 60_000 });
    const open = (takeProducer?: () => ReturnType<typeof takeProducerId>) =>
      new GroupCommit(new BatchStore(cluster), openTransactor, { timeoutMs: 60_000 }, takeProducer);
    const [plain, once] = [open(), open(() => takeProducerId(cluster, 60_000))];
    cluster.loses = true;
    await plain.append([recordOf(topic, 0, 'a')]);
    for (const key of ['b', 'c', 'd']) {
      cluster.loses = key !== 'c';
      expect(await once.append([recordOf(topic, 0, key)])).toMatchObject([{ partition: 0 }]);
    }
    cluster.close();
    expect(await readAll(log, topic)).toEqual([['a', 'a', 'b', 'c', 'd']]);
  });

  test('refuses only what the broker finds too large, and stores the calls beside it', async () => {
    const topic = await makeTopic(log, 1, { 'max.message.bytes': '3000' });
    const appender = log.createAppender();
    const [small, large, other] = await Promise.allSettled([
      appender.append([recordOf(topic, 0, 'small')]),
      appender.append([recordOf(topic, 0, 'large', 'x'.repeat(4_000))]),
      appender.append([recordOf(topic, 0, 'other')]),
    ]);
    expect([small?.status, other?.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(large).toMatchObject({ status: 'rejected', reason: expect.any(RecordTooLarge) });
    expect(await readAll(log, topic)).toEqual([['small', 'other']]);
  });
});
