import { afterAll, describe, expect, test } from '@jest/globals';
import { makeTopic, openTestLog, recordOf } from '../testing/open-test-log.js';

const log = openTestLog();
afterAll(() => log.close());

describe('the last records of a partition', () => {
  const last = async (topic: string, partition: number) =>
    (await log.readLastRecords(topic, partition)).map(({ key }) => key);
  const keys = (count: number, prefix = '') => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

  test('are none where it holds none', async () => {
    const topic = await makeTopic(log, 2);
    await log.createAppender().append([recordOf(topic, 1, 'elsewhere')]);
    expect(await last(topic, 0)).toEqual([]);
  });

  test('come oldest first, sixteen at most, with all that a record has', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    await appender.append(keys(100).map((key) => recordOf(topic, 0, key)));
    const gone = { topic, partition: 0, key: 'gone', value: null, headers: { note: 'gone' } };
    await appender.append([gone]);
    expect(await last(topic, 0)).toEqual([...keys(100).slice(-15), 'gone']);
    expect((await log.readLastRecords(topic, 0)).at(-1)).toMatchObject({ ...gone, offset: 100n });
  });

  test('are those before the markers of transactions, and before what was aborted', async () => {
    const topic = await makeTopic(log, 2, { 'max.message.bytes': '50000' });
    const publisher = log.createFencedPublisher({ transactionalId: topic });
    await publisher.publish(keys(3).map((key) => recordOf(topic, 0, key)));
    const end = (await log.endOffsets(topic))[0] ?? 0n;
    for (let times = 0; times < 3; times += 1) {
      const aborted = keys(200, 'aborted').map((key) => recordOf(topic, 0, key));
      const refused = recordOf(topic, 1, 'bad', 'x'.repeat(60_000));
      await expect(publisher.publish([...aborted, refused])).rejects.toThrow('too large');
    }
    // They stand in the log, and nobody may see them.
    expect((await log.endOffsets(topic))[0]).toBeGreaterThan(end + 256n);
    expect(await last(topic, 0)).toEqual(['0', '1', '2']);
    await publisher.publish([recordOf(topic, 0, 'next')]);
    expect((await last(topic, 0)).at(-1)).toBe('next');
  });

  test('of a topic that is not there are not answered in vain', async () => {
    await expect(log.readLastRecords('test-nowhere', 0)).rejects.toMatchObject({ name: 'LogUnavailable' });
  });
});
