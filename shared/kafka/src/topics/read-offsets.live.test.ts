import { afterAll, expect, test } from '@jest/globals';
import { makeTopic, openTestLog, recordOf } from '../testing/open-test-log.js';

const log = openTestLog();
afterAll(() => log.close());

test('end offsets include every append that was answered before the request', async () => {
  const topic = await makeTopic(log, 2);
  const appender = log.createAppender();
  for (let n = 0; n < 50; n += 1) {
    const [at] = await appender.append([recordOf(topic, n % 2, `${n}`)]);
    const ends = await Promise.all([log.endOffsets(topic), log.endOffsets(topic), log.endOffsets(topic)]);
    for (const offsets of ends) expect(offsets[n % 2]).toBe((at?.offset ?? 0n) + 1n);
  }
});

test('the offset at a time is that of the first record that is not older, if there is one', async () => {
  const topic = await makeTopic(log, 3);
  const appender = log.createAppender();
  for (const partition of [0, 0, 1]) await appender.append([recordOf(topic, partition, 'before')]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const betweenMs = Date.now();
  await appender.append([recordOf(topic, 0, 'after')]);
  expect(await log.offsetsAt(topic, betweenMs)).toEqual([2n, undefined, undefined]);
  expect(await log.offsetsAt(topic, betweenMs - 86_400_000)).toEqual([0n, 0n, undefined]);
  expect(await log.offsetsAt(topic, betweenMs + 86_400_000)).toEqual([undefined, undefined, undefined]);
});
