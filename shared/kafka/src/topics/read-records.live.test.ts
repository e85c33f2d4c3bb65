import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Log } from '../log.js';
import { makeTopic, openTestLog, recordOf } from '../testing/open-test-log.js';

describe('single records of a partition', () => {
  let log: Log;
  beforeAll(() => {
    log = openTestLog();
  });
  afterAll(() => log.close());

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

  test('are left out where there are none: beyond the end, deleted, aborted, or a marker', async () => {
    const topic = await makeTopic(log, 2, { 'max.message.bytes': '50000' });
    const publisher = log.createFencedPublisher({ transactionalId: topic });
    await publisher.publish([recordOf(topic, 1, 'first')]);
    const aborted = [recordOf(topic, 1, 'aborted'), recordOf(topic, 0, 'bad', 'x'.repeat(60_000))];
    await expect(publisher.publish(aborted)).rejects.toThrow('too large');
    const end = (await log.endOffsets(topic))[1] ?? 0n;
    const all = Array.from({ length: Number(end) + 3 }, (_, n) => BigInt(n));
    expect(await keysAt(topic, ...all)).toEqual(['first', ...all.slice(1).map(() => undefined)]);
  });

  test('of a topic that is not there are not waited for in vain', async () => {
    const reading = log.readRecords({ topic: 'test-nowhere', partition: 0 }, [0n], { timeoutMs: 500 });
    await expect(reading).rejects.toMatchObject({ name: 'LogUnavailable' });
  });
});
