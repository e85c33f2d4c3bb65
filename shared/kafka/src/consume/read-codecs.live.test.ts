import { afterAll, expect, test } from '@jest/globals';
import { testParts } from '@makerbook/parts';
import { compressionsAlgorithms } from '@platformatic/kafka';
import { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { makeTopic, openTestLog, quiet, readAll, recordOf } from '../testing/open-test-log.js';
import { fetchOnce } from './fetch-request.js';

const log = openTestLog();
afterAll(() => log.close());

/** The codec of the first batch as the broker stores it. */
async function storedCodec(topic: string): Promise<number> {
  const cluster = new Cluster({ brokers: [testParts().kafkaBrokers], clientId: 'test', logger: quiet });
  const deadline = deadlineIn(60_000);
  const leader = await cluster.leaderOf(topic, 0, deadline);
  const [fetched] = await fetchOnce(leader, topic, [{ partition: 0, from: 0n }], 0, deadline);
  cluster.close();
  return (fetched?.bytes.readInt16BE(21) ?? 0) & 7;
}

test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('records that are stored as %s are read', async (codec) => {
  const topic = await makeTopic(log, 1, { 'compression.type': codec });
  const appender = log.createAppender();
  const keys = Array.from({ length: 500 }, (_, n) => `${n}`);
  await appender.append(keys.map((key) => recordOf(topic, 0, key, `${key}:${'x'.repeat(200)}`)));
  await appender.append([recordOf(topic, 0, 'last')]);
  expect(await storedCodec(topic)).toBe(compressionsAlgorithms[codec].bitmask);
  const [values = []] = await readAll(log, topic);
  expect(values.map((value) => value.split(':')[0])).toEqual([...keys, 'last']);
  expect((await log.readLastRecords(topic, 0)).at(-1)?.key).toBe('last');
});
