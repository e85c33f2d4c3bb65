import { afterAll, describe, expect, test } from '@jest/globals';
import { TopicMismatch } from '../failures.js';
import { makeTopic, openTestLog } from '../testing/open-test-log.js';

const log = openTestLog();
afterAll(() => log.close());

describe('topics', () => {
  test('are created once; an existing one is left as it is, and differences are reported', async () => {
    const name = await makeTopic(log, 3, { 'retention.ms': '-1' });
    const same = await log.createTopics([{ name, partitions: 3, config: { 'retention.ms': '-1' } }]);
    expect(same).toEqual([{ name, outcome: 'existed', differences: [] }]);
    const other = await log.createTopics([{ name, partitions: 4, config: { 'retention.ms': '1000' } }]);
    const differences = ['3 partitions, expected 4 (PARTITIONS)', 'retention.ms=-1, expected 1000'];
    expect(other).toEqual([{ name, outcome: 'existed', differences }]);
    expect(await log.partitionsOf(name)).toBe(3);
  });

  test('that are missing or have another number of partitions are refused by name', async () => {
    const name = await makeTopic(log, 3);
    await log.verifyTopics([{ name, partitions: 3, config: {} }]);
    const wrong = log.verifyTopics([
      { name, partitions: 48, config: {} },
      { name: `${name}-none`, partitions: 8, config: {} },
    ]);
    await expect(wrong).rejects.toBeInstanceOf(TopicMismatch);
    await expect(wrong).rejects.toThrow(
      `topic ${name} has 3 partitions, expected 48 (PARTITIONS); topic ${name}-none is missing`,
    );
  });

  test('must keep the compression of their writers, unless a spec says otherwise', async () => {
    const name = await makeTopic(log, 1);
    await log.verifyTopics([{ name, partitions: 1, config: { 'compression.type': 'producer' } }]);
    const packed = await makeTopic(log, 1, { 'compression.type': 'zstd' });
    await expect(log.verifyTopics([{ name: packed, partitions: 1, config: {} }])).rejects.toThrow(
      `topic ${packed} has compression.type=zstd, expected producer`,
    );
  });

  test.each([
    ['cleanup.policy', 'compact', 'delete'],
    ['retention.ms', '1000', '-1'],
    ['retention.bytes', '1000000', '-1'],
    ['message.timestamp.type', 'CreateTime', 'LogAppendTime'],
  ])('whose %s was changed are refused at the start', async (setting, actual, expected) => {
    const name = await makeTopic(log, 1, { [setting]: actual });
    await expect(log.verifyTopics([{ name, partitions: 1, config: { [setting]: expected } }])).rejects.toThrow(
      `topic ${name} has ${setting}=${actual}, expected ${expected}`,
    );
  });

  test('may differ at the start in settings that no promise depends on', async () => {
    const name = await makeTopic(log, 1, { 'segment.ms': '60000' });
    await log.verifyTopics([{ name, partitions: 1, config: { 'segment.ms': '100000' } }]);
  });
});
