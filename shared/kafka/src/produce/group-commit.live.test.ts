import { afterAll, describe, expect, test } from '@jest/globals';
import { RecordTooLarge } from '../failures.js';
import { makeTopic, openTestLog, readAll, recordOf } from '../testing/open-test-log.js';

const log = openTestLog();
afterAll(() => log.close());

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

  test('stores more records of a partition than a batch holds, all of them', async () => {
    const topic = await makeTopic(log, 1);
    const records = Array.from({ length: 1_500 }, (_, n) => recordOf(topic, 0, String(n), String(n).padStart(1_000)));
    const appended = await log.createAppender().append(records);
    const keys = records.map(({ key }) => key);
    expect(appended.map(({ offset }) => offset)).toEqual(keys.map((key) => BigInt(key)));
    const [seen = []] = await readAll(log, topic);
    expect(seen.map((value) => value.trimStart())).toEqual(keys);
  });

  test('what the broker itself finds too large is refused alone, and the calls beside it are stored', async () => {
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
