import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TopicsNotAsTold } from './failures.js';
import type { Log } from './log.js';
import { makeTopic, openTestLog, recordOf } from './testing/open-test-log.js';

describe('topics', () => {
  let log: Log;
  beforeAll(() => {
    log = openTestLog();
  });
  afterAll(() => log.close());

  test('are made once; one that exists is left as it is and what differs is said', async () => {
    const name = await makeTopic(log, 3, { 'retention.ms': '-1' });
    expect(await log.createTopics([{ name, partitions: 3, config: { 'retention.ms': '-1' } }])).toEqual([
      { name, outcome: 'existed', differences: [] },
    ]);
    expect(await log.createTopics([{ name, partitions: 4, config: { 'retention.ms': '1000' } }])).toEqual([
      { name, outcome: 'existed', differences: ['3 partitions, told 4', 'retention.ms is -1, told 1000'] },
    ]);
    expect(await log.partitionsOf(name)).toBe(3);
  });

  test('that are missing or have other partitions than told are refused by name', async () => {
    const name = await makeTopic(log, 3);
    await log.verifyTopics([{ name, partitions: 3, config: {} }]);
    const wrong = log.verifyTopics([
      { name, partitions: 8, config: {} },
      { name: `${name}-none`, partitions: 8, config: {} },
    ]);
    await expect(wrong).rejects.toBeInstanceOf(TopicsNotAsTold);
    await expect(wrong).rejects.toThrow(
      `topic ${name} has 3 partitions and not 8 as told; topic ${name}-none is missing`,
    );
  });
});

describe('end offsets', () => {
  let log: Log;
  beforeAll(() => {
    log = openTestLog();
  });
  afterAll(() => log.close());

  test('show every append that was answered before they were asked for', async () => {
    const topic = await makeTopic(log, 2);
    const appender = log.createAppender();
    for (let n = 0; n < 50; n += 1) {
      const [at] = await appender.append([recordOf(topic, n % 2, `${n}`)]);
      const ends = await Promise.all([log.endOffsets(topic), log.endOffsets(topic), log.endOffsets(topic)]);
      for (const offsets of ends) {
        expect(offsets[n % 2]).toBe((at?.offset ?? 0n) + 1n);
      }
    }
  });
});
