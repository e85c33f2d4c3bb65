import { afterAll, describe, expect, test } from '@jest/globals';
import { testParts, until } from '@makerbook/parts';
import { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { LogUnavailable, PublisherFenced, unavailable } from '../failures.js';
import type { FencedPublisher } from '../log.js';
import { makeTopic, openTestLog, quiet, readAll, recordOf } from '../testing/open-test-log.js';
import { GroupCommit } from './group-commit.js';
import { BatchStore, type Stored } from './store-batches.js';
import { Transactor } from './transactions.js';

const log = openTestLog();
afterAll(() => log.close());

/** A real cluster whose partitions can be without leaders. */
class LeaderlessCluster extends Cluster {
  isLeaderless = false;

  override leaderOf(...[topic, partition, deadline]: Parameters<Cluster['leaderOf']>) {
    return this.isLeaderless ? Promise.reject(unavailable('no leader')) : super.leaderOf(topic, partition, deadline);
  }
}

/** A real store whose batch can reach the broker after its caller was told that there was no answer. */
class SlowWire extends BatchStore {
  isSlow = false;
  arrive: () => Promise<Stored> = () => Promise.reject(new Error('nothing is on its way'));

  override store(...batch: Parameters<BatchStore['store']>) {
    if (!this.isSlow) return super.store(...batch);
    this.arrive = () => super.store(batch[0], deadlineIn(60_000));
    return Promise.reject(new LogUnavailable('no answer', { mayHaveBeenAppended: true }));
  }
}

const clusters: Cluster[] = [];
function openCluster<C extends Cluster>(Kind: new (options: ConstructorParameters<typeof Cluster>[0]) => C): C {
  const cluster = new Kind({ brokers: [testParts().kafkaBrokers], clientId: 'test', logger: quiet });
  clusters.push(cluster);
  return cluster;
}
afterAll(() => {
  for (const cluster of clusters) cluster.close();
});

describe('publishing', () => {
  test('the latest publisher fences the earlier one, which cannot win the id back by trying again', async () => {
    const topic = await makeTopic(log, 1);
    const first = log.createFencedPublisher({ transactionalId: topic });
    await first.publish([recordOf(topic, 0, 'first')]);
    const second = log.createFencedPublisher({ transactionalId: topic });
    await second.takeOver();
    await expect(first.publish([recordOf(topic, 0, 'zombie')])).rejects.toBeInstanceOf(PublisherFenced);
    await expect(first.publish([recordOf(topic, 0, 'zombie')])).rejects.toBeInstanceOf(PublisherFenced);
    await second.publish([recordOf(topic, 0, 'second')]);
    expect(await readAll(log, topic)).toEqual([['first', 'second']]);
  });

  test('an open transaction is aborted by its holder, which goes on, and never by an earlier holder', async () => {
    const topic = await makeTopic(log, 1);
    const cluster = openCluster(LeaderlessCluster);
    const [first, second] = [1, 2].map(() => new Transactor(cluster, { transactionalId: topic, timeoutMs: 1_000 })) as [
      Transactor,
      Transactor,
    ];
    const publish = (publisher: Transactor, value: string) =>
      publisher.publish([recordOf(topic, 0, value)]).then(
        () => 'published',
        (error: Error) => error.name,
      );
    const becomes = (publisher: Transactor, value: string, outcome: string) =>
      until(`${value} is ${outcome}`, async () => (await publish(publisher, value)) === outcome);
    // The coordinator opens the transaction, but the time runs out before anything of it is stored.
    const leaveOpen = async (publisher: Transactor) => {
      cluster.isLeaderless = true;
      expect(await publish(publisher, 'left open')).toBe('LogUnavailable');
      cluster.isLeaderless = false;
    };
    await becomes(first, 'begin', 'published');
    await leaveOpen(first);
    await becomes(first, 'go on', 'published');
    await leaveOpen(first);
    await becomes(second, 'succeed', 'published');
    await leaveOpen(second);
    await becomes(first, 'zombie', 'PublisherFenced');
    await becomes(second, 'end', 'published');
    expect(new Set((await readAll(log, topic)).flat())).toEqual(new Set(['begin', 'go on', 'succeed', 'end']));
  });

  test('a publication beyond one record batch is one transaction: seen whole and in order, or not at all', async () => {
    const topic = await makeTopic(log, 1, { 'max.message.bytes': '950000' });
    const publisher = log.createFencedPublisher({ transactionalId: topic });
    const large = Array.from({ length: 60 }, (_, n) => recordOf(topic, 0, `${n}`, `${n}:${'x'.repeat(20_000)}`));
    const refused = recordOf(topic, 0, 'bad', 'x'.repeat(800_000));
    await expect(publisher.publish([...large, refused])).rejects.toThrow('too large');
    expect((await readAll(log, topic)).flat()).toEqual([]);
    await publisher.publish(large);
    expect((await readAll(log, topic)).flat().map((value) => value.split(':')[0])).toEqual(large.map(({ key }) => key));
  });

  test('an appender that the broker has fenced fails once, takes the id again, and goes on', async () => {
    const topic = await makeTopic(log, 2);
    const cluster = openCluster(Cluster);
    const timeoutMs = 60_000;
    const openTransactor = () => new Transactor(cluster, { transactionalId: topic, timeoutMs });
    const appender = new GroupCommit(new BatchStore(cluster), openTransactor, { timeoutMs });
    const both = (value: string) => [recordOf(topic, 0, value), recordOf(topic, 1, value)];
    await appender.append(both('first'));
    // Do what a broker does at a transaction's timeout: move the epoch on without its holder.
    await log.createFencedPublisher({ transactionalId: topic }).takeOver();
    await expect(appender.append(both('fenced'))).rejects.toMatchObject({
      name: 'LogUnavailable',
      mayHaveBeenAppended: false,
    });
    await appender.append(both('next'));
    expect(await readAll(log, topic)).toEqual([
      ['first', 'next'],
      ['first', 'next'],
    ]);
    await appender.close();
  });

  test('after a takeover, the end offset of an own partition includes all that earlier holders stored', async () => {
    const topic = await makeTopic(log, 1);
    const options = { transactionalId: topic, ownPartitions: [{ topic, partition: 0 }] };
    const markers: bigint[] = [];
    for (let taken = 0; taken < 15; taken += 1) {
      await log.createFencedPublisher(options).takeOver();
      markers.push((await log.endOffsets(topic))[0] ?? -1n);
    }
    expect(markers).toEqual(markers.map((_, taken) => BigInt(taken + 1)));
  });

  test('batches and transactions of one publisher keep their order', async () => {
    const [one, other] = [await makeTopic(log, 1), await makeTopic(log, 1)];
    const ownPartitions = [one, other].map((topic) => ({ topic, partition: 0 }));
    const publisher = log.createFencedPublisher({ transactionalId: one, ownPartitions });
    const numbers = Array.from({ length: 40 }, (_, n) => `${n}`);
    for (const [n, value] of numbers.entries()) {
      const topics = n % 2 === 0 ? [one] : [one, other];
      await publisher.publish(topics.map((topic) => recordOf(topic, 0, value)));
    }
    // The fence and each transaction leave a marker. A batch for one partition leaves none.
    await until('all markers are there', async () => (await log.endOffsets(one))[0] === 61n);
    expect(await readAll(log, one)).toEqual([numbers]);
    expect(await readAll(log, other)).toEqual([numbers.filter((_, n) => n % 2 === 1)]);
  });

  test('a publisher whose batch had no answer goes on, and the late batch is refused', async () => {
    const topic = await makeTopic(log, 1);
    const cluster = openCluster(Cluster);
    const options = { transactionalId: topic, ownPartitions: [{ topic, partition: 0 }], timeoutMs: 60_000 };
    const batches = new SlowWire(cluster);
    const publisher = new Transactor(cluster, options, batches);
    await publisher.publish([recordOf(topic, 0, 'a')]);
    batches.isSlow = true;
    await expect(publisher.publish([recordOf(topic, 0, 'late')])).rejects.toMatchObject({ mayHaveBeenAppended: true });
    batches.isSlow = false;
    await publisher.takeOver();
    await expect(batches.arrive()).rejects.toMatchObject({ cause: { reason: 'INVALID_PRODUCER_EPOCH' } });
    await publisher.publish([recordOf(topic, 0, 'b')]);
    expect(await readAll(log, topic)).toEqual([['a', 'b']]);
  });

  test('appending to own partitions needs no transaction, and each partition keeps its order', async () => {
    const topic = await makeTopic(log, 12);
    const ownPartitions = Array.from({ length: 12 }, (_, partition) => ({ topic, partition }));
    const publisher = log.createFencedPublisher({ transactionalId: topic, ownPartitions });
    await publisher.takeOver();
    const records = ['a', 'b'].flatMap((key) => ownPartitions.map(({ partition }) => recordOf(topic, partition, key)));
    const at = await publisher.append(records);
    // The records come after the fence's marker.
    expect(at).toMatchObject(records.map(({ partition, key }) => ({ partition, offset: key === 'a' ? 1n : 2n })));
    expect(await log.endOffsets(topic)).toEqual(ownPartitions.map(() => 3n));
    expect(await readAll(log, topic)).toEqual(ownPartitions.map(() => ['a', 'b']));
    await expect(publisher.append([recordOf(`${topic}-other`, 0, 'x')])).rejects.toThrow('is not fenced');
  });

  test('an earlier holder can no longer append to own partitions, and other writers are not fenced', async () => {
    const topic = await makeTopic(log, 2);
    const ownPartitions = [0, 1].map((partition) => ({ topic, partition }));
    const options = { transactionalId: topic, ownPartitions, timeoutMs: 60_000 };
    const [first, second] = [1, 2].map(() => log.createFencedPublisher(options)) as [FencedPublisher, FencedPublisher];
    const stranger = log.createAppender({ timeoutMs: 60_000 });
    const both = (value: string) => [recordOf(topic, 0, value), recordOf(topic, 1, value)];
    await first.append(both('first'));
    await stranger.append([recordOf(topic, 1, 'before')]);
    await second.takeOver();
    // Only the partitions can refuse this: no coordinator is asked, and the successor has published nothing.
    await expect(first.append(both('zombie'))).rejects.toBeInstanceOf(PublisherFenced);
    await expect(first.publish([recordOf(topic, 1, 'zombie')])).rejects.toBeInstanceOf(PublisherFenced);
    await stranger.append([recordOf(topic, 1, 'after')]);
    await second.append(both('second'));
    expect(await readAll(log, topic)).toEqual([
      ['first', 'second'],
      ['first', 'before', 'after', 'second'],
    ]);
  });

  test('records beyond one batch are appended in several, in order', async () => {
    const topic = await makeTopic(log, 1);
    const options = { transactionalId: topic, ownPartitions: [{ topic, partition: 0 }], timeoutMs: 60_000 };
    const publisher = log.createFencedPublisher(options);
    const large = Array.from({ length: 60 }, (_, n) => recordOf(topic, 0, `${n}`, `${n}:${'x'.repeat(20_000)}`));
    const at = await publisher.append(large);
    expect(at.map(({ offset }) => offset)).toEqual(large.map((_, n) => BigInt(n + 1)));
    expect((await readAll(log, topic)).flat().map((value) => value.split(':')[0])).toEqual(large.map(({ key }) => key));
  });

  test('48 publishers in one process share a few connections and publish side by side', async () => {
    const topic = await makeTopic(log, 48);
    const sockets = () => process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
    const before = sockets();
    const publishers = Array.from({ length: 48 }, (_, n) =>
      log.createFencedPublisher({ transactionalId: `${topic}-${n}` }),
    );
    for (const round of ['one', 'two']) {
      await Promise.all(publishers.map((publisher, n) => publisher.publish([recordOf(topic, n, round)])));
    }
    expect(sockets() - before).toBeLessThanOrEqual(8);
    expect(await readAll(log, topic)).toEqual(publishers.map(() => ['one', 'two']));
  });

  test('skipped offsets have nothing to read, and the next record comes after them', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    await appender.append([recordOf(topic, 0, 'before')]);
    for (const offsets of [1, 2, 50_000]) await log.skipOffsets({ topic, partition: 0 }, offsets, `${topic}-skip`);
    expect(await log.endOffsets(topic)).toEqual([50_004n, 0n]);
    expect(await appender.append([recordOf(topic, 0, 'after')])).toMatchObject([{ partition: 0, offset: 50_004n }]);
    expect(await readAll(log, topic)).toEqual([['before', 'after'], []]);
  });
});
