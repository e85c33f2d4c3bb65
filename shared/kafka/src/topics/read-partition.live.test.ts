import { afterAll, describe, expect, test } from '@jest/globals';
import { deleteRecords, testParts, until } from '@makerbook/parts';
import { FatalError } from '../failures.js';
import { makeTopic, openTestLog, recordOf } from '../testing/open-test-log.js';

const log = openTestLog();
afterAll(() => log.close());

describe('a part of a partition', () => {
  const keysOf = async (topic: string, from: bigint | undefined, to: bigint) => {
    const keys: string[] = [];
    for await (const { records } of log.readRange({ topic, partition: 1 }, from, to)) {
      keys.push(...records.map(({ key }) => key));
    }
    return keys;
  };

  test('is read in pieces, from one offset up to another', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    for (let n = 0; n < 10; n += 1) await appender.append([recordOf(topic, 1, `${n}`, 'x'.repeat(60_000))]);
    expect(await keysOf(topic, 2n, 9n)).toEqual(['2', '3', '4', '5', '6', '7', '8']);
    expect(await keysOf(topic, undefined, 2n)).toEqual(['0', '1']);
    expect(await keysOf(topic, 3n, 3n)).toEqual([]);
  });

  test('ends after control records', async () => {
    const topic = await makeTopic(log, 2);
    await log.createFencedPublisher({ transactionalId: topic }).publish([recordOf(topic, 1, 'only')]);
    await until('the marker is there', async () => (await log.endOffsets(topic))[1] === 2n);
    const nextOffsets: bigint[] = [];
    for await (const { nextOffset } of log.readRange({ topic, partition: 1 }, 0n, 2n)) nextOffsets.push(nextOffset);
    expect(nextOffsets.at(-1)).toBe(2n);
  });

  test('fails if wanted records are deleted, and begins at the first stored one if no offset is named', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    for (let n = 0; n < 4; n += 1) await appender.append([recordOf(topic, 1, `${n}`)]);
    await deleteRecords(testParts().kafkaBrokers, topic, [0n, 2n]);
    await expect(keysOf(topic, 1n, 4n)).rejects.toThrow(FatalError);
    expect(await keysOf(topic, undefined, 4n)).toEqual(['2', '3']);
  });
});

describe('single records of a partition', () => {
  const keysAt = async (topic: string, ...offsets: bigint[]) => {
    const found = await log.readRecords({ topic, partition: 1 }, offsets);
    return offsets.map((offset) => found.get(offset)?.key);
  };

  test('are found by their offsets, in one batch or in several, whatever their order', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    const records = (from: number) =>
      Array.from({ length: 50 }, (_, n) => recordOf(topic, 1, `${from + n}`, 'x'.repeat(5_000)));
    for (const from of [0, 50, 100]) await appender.append(records(from));
    expect(await keysAt(topic, 149n, 0n, 7n, 99n, 7n)).toEqual(['149', '0', '7', '99', '7']);
    expect(await keysAt(topic)).toEqual([]);
  });

  test('are left out if they are beyond the end, aborted, or a marker', async () => {
    const topic = await makeTopic(log, 2, { 'max.message.bytes': '50000' });
    const publisher = log.createFencedPublisher({ transactionalId: topic });
    await publisher.publish([recordOf(topic, 1, 'first')]);
    const aborted = [recordOf(topic, 1, 'aborted'), recordOf(topic, 0, 'bad', 'x'.repeat(60_000))];
    await expect(publisher.publish(aborted)).rejects.toThrow('too large');
    const end = (await log.endOffsets(topic))[1] ?? 0n;
    const all = Array.from({ length: Number(end) + 3 }, (_, n) => BigInt(n));
    expect(await keysAt(topic, ...all)).toEqual(['first', ...all.slice(1).map(() => undefined)]);
  });

  test('of a missing topic fail as unavailable', async () => {
    await expect(log.readRecords({ topic: 'test-nowhere', partition: 0 }, [0n])).rejects.toMatchObject({
      name: 'LogUnavailable',
    });
  });
});

describe('the last records of a partition', () => {
  const last = async (topic: string, partition: number) =>
    (await log.readLastRecords(topic, partition)).map(({ key }) => key);
  const keys = (count: number, prefix = '') => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

  test('are none if the partition is empty', async () => {
    const topic = await makeTopic(log, 2);
    await log.createAppender().append([recordOf(topic, 1, 'elsewhere')]);
    expect(await last(topic, 0)).toEqual([]);
  });

  test('come oldest first, at most sixteen, with every field', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    await appender.append(keys(100).map((key) => recordOf(topic, 0, key)));
    const gone = { topic, partition: 0, key: 'gone', value: null, headers: { note: 'gone' } };
    await appender.append([gone]);
    expect(await last(topic, 0)).toEqual([...keys(100).slice(-15), 'gone']);
    expect((await log.readLastRecords(topic, 0)).at(-1)).toMatchObject({ ...gone, offset: 100n });
  });

  test('leave out markers of transactions and aborted records', async () => {
    const topic = await makeTopic(log, 2, { 'max.message.bytes': '50000' });
    const publisher = log.createFencedPublisher({ transactionalId: topic });
    await publisher.publish(keys(3).map((key) => recordOf(topic, 0, key)));
    const end = (await log.endOffsets(topic))[0] ?? 0n;
    for (let times = 0; times < 3; times += 1) {
      const aborted = keys(200, 'aborted').map((key) => recordOf(topic, 0, key));
      const refused = recordOf(topic, 1, 'bad', 'x'.repeat(60_000));
      await expect(publisher.publish([...aborted, refused])).rejects.toThrow('too large');
    }
    // The aborted records are in the log, but nobody may see them.
    expect((await log.endOffsets(topic))[0]).toBeGreaterThan(end + 256n);
    expect(await last(topic, 0)).toEqual(['0', '1', '2']);
    await publisher.publish([recordOf(topic, 0, 'next')]);
    expect((await last(topic, 0)).at(-1)).toBe('next');
  });
});
