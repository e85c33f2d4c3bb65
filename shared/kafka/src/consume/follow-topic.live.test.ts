import { afterAll, describe, expect, test } from '@jest/globals';
import { deleteRecords, testParts, until } from '@makerbook/parts';
import { FatalError } from '../failures.js';
import type { FollowOptions } from '../log.js';
import { makeTopic, noteKeys, openTestLog, recordOf } from '../testing/open-test-log.js';

const log = openTestLog();
afterAll(() => log.close());

describe('following a topic', () => {
  test('an empty topic is caught up with at once, and following it stops at once', async () => {
    const topic = await makeTopic(log, 8);
    const following = log.followTopic({ topic, from: 'beginning', onRecords: () => undefined });
    await following.caughtUp;
    expect(following.positions()).toEqual(new Array(8).fill(0n));
    const from = performance.now();
    await following.stop();
    // A request in flight at that moment could take ten seconds.
    expect(performance.now() - from).toBeLessThan(9_500);
  });

  test('caught up means that everything stored before has been handled, and what comes later follows', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    await Promise.all(Array.from({ length: 40 }, (_, n) => appender.append([recordOf(topic, n % 2, `${n}`)])));
    const handled: string[] = [];
    const following = log.followTopic({
      topic,
      from: 'beginning',
      onRecords: async (_, records) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        handled.push(...records.map(({ key }) => key));
      },
    });
    await following.caughtUp;
    expect(handled).toHaveLength(40);
    await appender.append([recordOf(topic, 0, 'later')]);
    await until('the later record is handled', () => handled.includes('later'));
    expect(following.positions()).toEqual([21n, 20n]);
    await following.stop();
  });

  test('with a pause, records that come meanwhile are fetched together', async () => {
    const topic = await makeTopic(log, 1);
    const appender = log.createAppender({ lingerMs: 0 });
    const handled: number[] = [];
    const following = log.followTopic({
      topic,
      from: 'beginning',
      pauseMs: 400,
      onRecords: (_, records) => void handled.push(records.length),
    });
    await following.caughtUp;
    for (let n = 0; n < 30; n += 1) await appender.append([recordOf(topic, 0, `${n}`)]);
    await until('all are handled', () => handled.reduce((sum, count) => sum + count, 0) === 30);
    expect(handled.length).toBeLessThan(15);
    await following.stop();
  });

  test('control records and aborted transactions do not hold it up', async () => {
    const topic = await makeTopic(log, 2, { 'max.message.bytes': '3000' });
    const appender = log.createAppender();
    await appender.append([recordOf(topic, 0, 'a'), recordOf(topic, 1, 'b')]);
    const aborted = [recordOf(topic, 0, 'gone'), recordOf(topic, 1, 'bad', 'x'.repeat(4_000))];
    await expect(appender.append(aborted)).rejects.toThrow('too large');
    await appender.append([recordOf(topic, 1, 'c')]);
    const positions = new Map<number, bigint>();
    const seen: string[] = [];
    const following = log.followTopic({
      topic,
      from: 'beginning',
      onRecords: noteKeys(seen),
      onPosition: (partition, nextOffset) => positions.set(partition, nextOffset),
    });
    await following.caughtUp;
    const ends = await log.endOffsets(topic);
    const isAtEnd = () => ends.every((end, partition) => (positions.get(partition) ?? 0n) >= end);
    await until('positions are at the end', isAtEnd);
    expect(seen.sort()).toEqual(['a', 'b', 'c']);
    await following.stop();
  });

  test('binary header values are kept byte for byte as latin1', async () => {
    const topic = await makeTopic(log, 1);
    await log.createAppender().append([{ ...recordOf(topic, 0, 'k'), headers: { name: 'é' } }]);
    const read = Promise.withResolvers<string>();
    const onRecords: FollowOptions['onRecords'] = (_, [record]) => read.resolve(record?.headers['name'] ?? '');
    const following = log.followTopic({ topic, from: 'beginning', headerEncoding: 'latin1', onRecords });
    expect(Buffer.from(await read.promise, 'latin1')).toEqual(Buffer.from('é', 'utf8'));
    await following.stop();
  });

  test('begins at the end or at given offsets, and hands over nothing older', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    for (let n = 0; n < 10; n += 1) await appender.append([recordOf(topic, n % 2, `${n}`)]);
    const seen = { end: [] as string[], given: [] as string[] };
    const follow = (from: 'end' | bigint[], into: string[]) =>
      log.followTopic({ topic, from, onRecords: noteKeys(into) });
    const atEnd = follow('end', seen.end);
    const atGiven = follow([3n, 5n], seen.given);
    await Promise.all([atEnd.caughtUp, atGiven.caughtUp]);
    expect(seen).toEqual({ end: [], given: ['6', '8'] });
    expect(atEnd.positions()).toEqual([5n, 5n]);
    await appender.append([recordOf(topic, 1, 'later')]);
    await until('both have the later record', () => seen.end.length === 1 && seen.given.length === 3);
    expect(seen).toEqual({ end: ['later'], given: ['6', '8', 'later'] });
    await Promise.all([atEnd.stop(), atGiven.stop()]);
  });

  test('skips deleted records, and fails if none may be missing', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    for (let n = 0; n < 10; n += 1) await appender.append([recordOf(topic, n % 2, `${n}`)]);
    await deleteRecords(testParts().kafkaBrokers, topic, [0n, 3n]);
    const follow = (from: bigint[], isGapless: boolean) => {
      const seen: string[] = [];
      const fatal: Error[] = [];
      const following = log.followTopic({
        topic,
        from,
        isGapless,
        onRecords: noteKeys(seen),
        onFatal: (error) => void fatal.push(error),
      });
      return { following, seen, fatal };
    };
    const lenient = follow([4n, 2n], false);
    await lenient.following.caughtUp;
    expect([lenient.seen.sort(), lenient.fatal]).toEqual([['7', '8', '9'], []]);
    const stored = follow([4n, 3n], true);
    await stored.following.caughtUp;
    expect([stored.seen.sort(), stored.fatal]).toEqual([['7', '8', '9'], []]);
    const missing = follow([4n, 2n], true);
    await until('it has failed', () => missing.fatal.length > 0);
    expect(missing.fatal).toEqual([expect.any(FatalError)]);
    expect(missing.fatal[0]?.message).toBe(`${topic}/1 is stored from offset 3 on, but offset 2 is wanted`);
    expect(missing.seen).not.toContain('7');
    const beyond = follow([5n, 6n], true);
    await until('it has failed too', () => beyond.fatal.length > 0);
    expect(beyond.fatal[0]?.message).toBe(`${topic}/1 has lost its end, but offset 6 is wanted`);
    for (const { following } of [lenient, stored, missing, beyond]) await following.stop();
  });

  test('ends with the error of a handler that throws', async () => {
    const topic = await makeTopic(log, 1);
    await log.createAppender().append([recordOf(topic, 0, 'k')]);
    const fatal = await new Promise<Error>((onFatal) => {
      log.followTopic({
        topic,
        from: 'beginning',
        onRecords: () => Promise.reject(new Error('broken')),
        onFatal,
      });
    });
    expect(fatal.message).toBe('broken');
  });
});
