import { expect, test } from '@jest/globals';
import { testParts, until } from '@makerbook/parts';
import { offsetFetchV8 } from '@platformatic/kafka';
import { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { makeTopic, openTestLog, quiet, succeeds } from '../testing/open-test-log.js';
import { commitOffsets } from './commit-offsets.js';

test('positions are committed under the name of a group that nobody is a member of', async () => {
  const log = openTestLog();
  const cluster = new Cluster({ brokers: testParts().kafkaBrokers.split(','), clientId: 'test', logger: quiet });
  try {
    const topic = await makeTopic(log, 2);
    for (const position of [7n, 9n]) {
      const positions = [position, 0n];
      // The first one makes the topic of the groups, which has to be loaded.
      const commit = () => commitOffsets(cluster, topic, topic, new Map(positions.entries()));
      await until('the offsets are committed', () => succeeds(commit()));
      const coordinator = await cluster.coordinatorOf('GROUP', topic, deadlineIn(60_000));
      const groups = [{ groupId: topic, memberEpoch: -1, topics: [{ name: topic, partitionIndexes: [0, 1] }] }];
      const answer = await coordinator.call(offsetFetchV8.api, deadlineIn(60_000), groups, false);
      expect(answer.groups[0]?.topics[0]?.partitions.map(({ committedOffset }) => committedOffset)).toEqual(positions);
    }
  } finally {
    cluster.close();
    await log.close();
  }
});
