import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { testParts, until } from '@makerbook/parts';
import { offsetFetchV8 } from '@platformatic/kafka';
import { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { FatalError, PoisonRecord, RetryableError } from '../failures.js';
import type { BatchContext, ConsumeOptions, PartitionBatch, PartitionConsumer, StoredRecord } from '../log.js';
import { asRead, makeTopic, openTestLog, quiet, readAll, readRecords, recordOf } from '../testing/open-test-log.js';

/** A store like the projector's. It takes a batch only at its position, and moves the position in the same step. */
function openStore(topic: string, partitions: number) {
  const positions = new Array<bigint>(partitions).fill(0n);
  const values: string[][] = Array.from({ length: partitions }, () => []);
  const commit = ({ partition, records, fromOffset, nextOffset }: PartitionBatch<StoredRecord>): boolean => {
    if (positions[partition] !== fromOffset) return false;
    positions[partition] = nextOffset;
    values[partition]?.push(...records.map(({ value }) => String(value)));
    return true;
  };
  /** Options that let the store handle the topic. */
  const handle = {
    topic,
    positionOf: async (partition: number) => positions[partition] ?? 0n,
    handleBatch: async (batch: PartitionBatch<StoredRecord>) => void commit(batch),
  };
  return { positions, values, commit, handle };
}

type Options = ConsumeOptions<StoredRecord>;
type TestOptions = Partial<Options> & Pick<Options, 'topic' | 'positionOf' | 'handleBatch'>;

describe('consuming partitions', () => {
  const log = openTestLog();
  const running: PartitionConsumer[] = [];
  const fatals: Error[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((consumer) => consumer.stop()));
    fatals.length = 0;
  });
  afterAll(() => log.close());

  /** Consumes the partitions given, or else all of the topic. */
  function consume(options: TestOptions, partitions?: readonly number[]) {
    const consumer = log.consumePartitions({
      parkedTopic: `${options.topic}-none`,
      onFatal: (error) => fatals.push(error),
      decode: asRead,
      ...options,
    });
    running.push(consumer);
    const assign = (of: Iterable<number>) => {
      for (const partition of of) consumer.assign(partition);
    };
    if (partitions !== undefined) assign(partitions);
    else void log.partitionsOf(options.topic).then((count) => assign(Array(count).keys()));
    return consumer;
  }

  async function caughtUp(topic: string, store: ReturnType<typeof openStore>): Promise<void> {
    const ends = await log.endOffsets(topic);
    await until('the store is at the high watermarks', () => {
      if (fatals[0] !== undefined) throw fatals[0];
      return ends.every((end, partition) => (store.positions[partition] ?? 0n) >= end);
    });
  }

  test('goes on exactly at the position of the store', async () => {
    const topic = await makeTopic(log, 1);
    const appender = log.createAppender();
    await appender.append(Array.from({ length: 10 }, (_, n) => recordOf(topic, 0, `${n}`)));
    const store = openStore(topic, 1);
    const first = consume(store.handle);
    await caughtUp(topic, store);
    await first.stop();
    expect(store.values[0]).toHaveLength(10);

    // The store falls back (restored from a backup): the rest is handed over again.
    store.positions[0] = 4n;
    store.values[0] = [];
    const second = consume(store.handle);
    await caughtUp(topic, store);
    await second.stop();
    expect(store.values[0]).toEqual(['4', '5', '6', '7', '8', '9']);

    // The store is ahead: nothing below its position is handed over.
    await appender.append([recordOf(topic, 0, '10'), recordOf(topic, 0, '11')]);
    store.positions[0] = 11n;
    store.values[0] = [];
    consume(store.handle);
    await caughtUp(topic, store);
    expect(store.values[0]).toEqual(['11']);
  });

  test('batches are bounded and each begins where the one before ended', async () => {
    const topic = await makeTopic(log, 1);
    await log.createAppender().append(Array.from({ length: 25 }, (_, n) => recordOf(topic, 0, `${n}`)));
    const batches: PartitionBatch<StoredRecord>[] = [];
    consume({
      topic,
      batchRecordsMax: 10,
      positionOf: async () => 0n,
      handleBatch: async (batch) => void batches.push(batch),
    });
    await until('all are handed over', () => batches.at(-1)?.nextOffset === 25n);
    expect(batches.map(({ fromOffset, nextOffset, records }) => [fromOffset, nextOffset, records.length])).toEqual([
      [0n, 10n, 10],
      [10n, 20n, 10],
      [20n, 25n, 5],
    ]);
  });

  test('records that come while a batch is handled are read meanwhile, and handed over as one batch', async () => {
    const topic = await makeTopic(log, 1);
    const appender = log.createAppender();
    const batches: string[][] = [];
    const release = Promise.withResolvers<void>();
    const consumer = consume({
      topic,
      positionOf: async () => 0n,
      handleBatch: async ({ records }) => {
        batches.push(records.map(({ value }) => String(value)));
        await release.promise;
      },
    });
    for (const [n, key] of ['a', 'b', 'c'].entries()) {
      await appender.append([recordOf(topic, 0, key)]);
      await until(`${key} is read`, () => consumer.lag().get(0) === BigInt(n + 1));
    }
    release.resolve();
    await until('all are handed over', () => batches.flat().length === 3);
    expect(batches).toEqual([['a'], ['b', 'c']]);
  });

  test('positions move past control records even if no record follows', async () => {
    const topic = await makeTopic(log, 2);
    const store = openStore(topic, 2);
    consume(store.handle);
    const at = await log.createAppender().append([recordOf(topic, 0, 'a'), recordOf(topic, 1, 'b')]);
    expect(at).toMatchObject([0, 1].map((partition) => ({ partition, offset: 0n })));
    await until('both stand behind the transaction marker', () => store.positions.every((position) => position === 2n));
    expect(await log.endOffsets(topic)).toEqual([2n, 2n]);
    expect(store.values).toEqual([['a'], ['b']]);
  });

  test('positions are committed under a group that has no members', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    consume({ ...openStore(topic, 2).handle, groupId: topic });
    const cluster = new Cluster({ brokers: testParts().kafkaBrokers.split(','), clientId: 'test', logger: quiet });
    const groups = [{ groupId: topic, memberEpoch: -1, topics: [{ name: topic, partitionIndexes: [0, 1] }] }];
    const readCommitted = async () => {
      const coordinator = await cluster.coordinatorOf('GROUP', topic, deadlineIn(60_000));
      const answer = await coordinator.call(offsetFetchV8.api, deadlineIn(60_000), groups, false);
      return answer.groups[0]?.topics[0]?.partitions.map(({ committedOffset }) => committedOffset).join();
    };
    try {
      for (const committed of ['1,0', '2,0']) {
        await appender.append([recordOf(topic, 0, committed)]);
        // The first requests make Kafka create the topic of the groups, which it then has to load.
        await until('the positions are committed', async () => (await readCommitted().catch(String)) === committed);
      }
    } finally {
      cluster.close();
    }
  });

  test('a retryable failure keeps the order and skips nothing, while other partitions go on', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    const store = openStore(topic, 2);
    let broken = true;
    const consumer = consume({
      ...store.handle,
      handleBatch: async (batch) => {
        if (batch.partition === 0 && broken) throw new RetryableError('the store is down');
        store.commit(batch);
      },
    });
    for (let n = 0; n < 10; n += 1) await appender.append([recordOf(topic, n % 2, `${n}`)]);
    await until('the other partition is done', () => store.values[1]?.length === 5);
    await until('the retry is seen in health', () => consumer.health().retrying.get(0) === 'the store is down');
    expect(store.values[0]).toEqual([]);
    broken = false;
    await caughtUp(topic, store);
    expect(store.values).toEqual([
      ['0', '2', '4', '6', '8'],
      ['1', '3', '5', '7', '9'],
    ]);
    expect(consumer.health().retrying.size).toBe(0);
  });

  test('a partition whose position the store does not tell yet waits alone, and health says so', async () => {
    const topic = await makeTopic(log, 2);
    await log.createAppender().append([recordOf(topic, 0, 'a'), recordOf(topic, 1, 'b')]);
    const store = openStore(topic, 2);
    const { promise: answer, resolve: answered } = Promise.withResolvers<bigint>();
    const consumer = consume({ ...store.handle, positionOf: async (p) => (p === 0 ? answer : 0n) });
    await until('the other partition is done', () => store.values[1]?.length === 1);
    expect([...consumer.health().retrying]).toEqual([[0, 'its position is not known yet']]);
    expect(store.values[0]).toEqual([]);
    answered(0n);
    await caughtUp(topic, store);
    expect(consumer.health().retrying.size).toBe(0);
  });

  test('poison is parked with its origin before the position moves on, and the partition goes on', async () => {
    const topic = await makeTopic(log, 1);
    const parkedTopic = await makeTopic(log, 2);
    const store = openStore(topic, 1);
    const parkedFirst: boolean[] = [];
    consume({
      ...store.handle,
      parkedTopic,
      onParked: () => parkedFirst.push(store.positions[0] === 0n),
      decode: (record) => {
        if (record.key === 'unreadable') throw new PoisonRecord('not JSON');
        return record;
      },
      handleBatch: async (batch, context) => {
        const impossible = batch.records.find(({ key }) => key === 'impossible');
        if (impossible !== undefined) await context.park(impossible, 'breaks an invariant');
        const records = batch.records.filter((record) => record !== impossible);
        store.commit({ ...batch, records });
      },
    });
    const keys = ['a', 'unreadable', 'b', 'impossible', 'c'];
    await log.createAppender().append(keys.map((key) => recordOf(topic, 0, key)));
    await caughtUp(topic, store);
    expect(store.values[0]).toEqual(['a', 'b', 'c']);
    expect(parkedFirst).toEqual([true, true]);
    const parked = await readRecords(log, parkedTopic);
    const written = parked.map(({ key, value, headers }) => ({ key, value: String(value), headers }));
    const parkedOf = (key: string, offset: number, reason: string) => {
      const origin = { 'parked-topic': topic, 'parked-partition': '0', 'parked-offset': String(offset) };
      return { key, value: key, headers: { note: key, ...origin, 'parked-reason': reason } };
    };
    expect(written.sort((one, other) => (one.key > other.key ? -1 : 1))).toEqual([
      parkedOf('unreadable', 1, 'not JSON'),
      parkedOf('impossible', 3, 'breaks an invariant'),
    ]);
  });

  test('a fatal failure, or an unexpected one that persists, stops the loop and is reported once', async () => {
    for (const [failure, message] of [
      [new FatalError('the invariant is broken'), 'the invariant is broken'],
      [new TypeError('a bug'), 'failed 6 times: a bug'],
    ] as const) {
      const topic = await makeTopic(log, 1);
      fatals.length = 0;
      let attempts = 0;
      const consumer = consume({
        topic,
        positionOf: async () => 0n,
        handleBatch: async () => {
          attempts += 1;
          throw failure;
        },
      });
      await log.createAppender().append([recordOf(topic, 0, 'k')]);
      await until('it has stopped', () => fatals.length > 0);
      await consumer.stop();
      expect(fatals.map((error) => error.message)).toEqual([expect.stringContaining(message)]);
      expect(attempts).toBe(failure instanceof FatalError ? 1 : 6);
      expect(consumer.health().state).toBe('failed');
    }
  });

  test('a store position that the log never had is fatal, with that reason', async () => {
    const topic = await makeTopic(log, 1);
    consume({ topic, positionOf: async () => 5n, handleBatch: async () => undefined });
    await until('it has stopped', () => fatals.length > 0);
    expect(fatals[0]?.message).toContain(`the store's position is offset 5 of ${topic}/0`);
  });

  test('a store that is down does not delay revoking and stopping', async () => {
    const topic = await makeTopic(log, 2);
    const positionOf = () => Promise.reject(new RetryableError('the store is down'));
    const consumer = consume({ topic, positionOf, handleBatch: async () => undefined }, [0, 1]);
    await until('it waits for the store', () => consumer.health().retrying.size === 2);
    await consumer.revoke(0, false);
    expect(consumer.health().assigned).toEqual([1]);
    await consumer.stop();
    expect(consumer.health()).toMatchObject({ state: 'stopped', assigned: [] });
  });

  test('partitions that are handed back and forth lose nothing and repeat nothing', async () => {
    const topic = await makeTopic(log, 4);
    const appender = log.createAppender();
    const store = openStore(topic, 4);
    const refused: string[] = [];
    const handle = {
      ...store.handle,
      handleBatch: async (batch: PartitionBatch<StoredRecord>, { assertOwned }: BatchContext) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        assertOwned();
        if (!store.commit(batch)) refused.push(`${batch.partition}@${batch.fromOffset}`);
      },
    };
    let writing = true;
    let written = 0;
    const writer = (async () => {
      for (; writing; written += 1) await appender.append([recordOf(topic, written % 4, `${written}`)]);
    })();
    // The writer is awaited below. Until then its failure must not end the run.
    writer.catch(() => undefined);
    const [first, second] = [consume(handle, [0, 1, 2, 3]), consume(handle, [])];
    for (let round = 0; round < 6; round += 1) {
      const [giving, taking] = round % 2 === 0 ? [first, second] : [second, first];
      await until('all is begun', () => [1, 2, 3].every((partition) => giving.positions().has(partition)));
      await Promise.all(
        [1, 2, 3].map(async (partition) => {
          await giving.revoke(partition, false);
          taking.assign(partition);
        }),
      );
    }
    writing = false;
    await writer;
    await caughtUp(topic, store);
    expect(store.values).toEqual(await readAll(log, topic));
    expect(store.values.flat()).toHaveLength(written);
    expect(refused).toEqual([]);
    await until('the lag is gone', () => [...first.lag().values()].every((lag) => lag === 0n));
  });

  test('a handler that outlives its revocation learns of it, and ends before the partition begins again', async () => {
    const topic = await makeTopic(log, 1);
    await log.createAppender().append([recordOf(topic, 0, 'k')]);
    const release = Promise.withResolvers<void>();
    const steps: string[] = [];
    const consumer = consume(
      {
        topic,
        positionOf: async () => {
          steps.push('begun');
          return 0n;
        },
        handleBatch: async (_, { assertOwned }) => {
          steps.push('handled');
          await release.promise;
          expect(assertOwned).toThrow(RetryableError);
          steps.push('ended');
        },
      },
      [0],
    );
    await until('it is handled', () => steps.length === 2);
    const revoked = consumer.revoke(0, true);
    expect(consumer.health().assigned).toEqual([]);
    consumer.assign(0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(steps).toEqual(['begun', 'handled']);
    release.resolve();
    await revoked;
    await until('it is handled again', () => steps.length === 5);
    expect(steps).toEqual(['begun', 'handled', 'ended', 'begun', 'handled']);
  });
});
