import { expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import { pause } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { replaceMethod, sendAtOnce } from '@makerbook/parts';
import { FactFeed } from '../fold/describe-feeds.js';
import { createTestProjector, testPartition as partition, testPartitions } from '../testing/create-test-projector.js';
import { busyBlock, makersOf, storedRecord } from '../testing/generate-facts.js';
import { RowsInMemory } from '../testing/hold-rows.js';
import { PartitionComparison } from './compare-partition.js';

const topics = topicNames();
const makers = makersOf(partition, testPartitions, 40);
const settings = {
  TOPIC_PREFIX: '',
  PARTITIONS: testPartitions,
  ROUTING_GRACE_SECONDS: 60,
  HELD_ORDERS_PER_PARTITION_MAX: 10,
  BATCH_FACTS_MAX: 100,
  COMMIT_TRANSITIONS_MAX: 100,
  COMMIT_FACTS_MAX: 100,
  COMMITS_AT_ONCE_MAX: 1,
  QUARANTINED_MAKERS_MAX: 10,
};

/** An owner that has projected the log to its middle, and a comparison with the rows of that moment. */
async function given() {
  const log = new LogInMemory({ partitions: testPartitions });
  const rows = new RowsInMemory();
  const view = log.connect();
  const { createFencedPublisher } = view;
  const owner = createTestProjector({ store: rows.connect(sendAtOnce), log: view, createFencedPublisher, topics });
  const hold = { assertOwned: () => undefined, park: async () => undefined };
  let number = 0;
  const project = async (blocks: number) => {
    for (const last = number + blocks; number < last; ) {
      number += 1;
      for (const fact of busyBlock(makers, number)) {
        log.put(storedRecord(fact, { partition, offset: log.end(topics.makerEvents, partition) }));
      }
    }
    const to = log.end(topics.makerEvents, partition);
    await owner.handleBatch({ partition, records: [], fromOffset: to, nextOffset: to }, hold);
    await owner.owned.get(partition)?.taken.committer.underWay;
  };
  await project(100);
  const snapshot = new RowsInMemory();
  snapshot.tables = rows.tables;
  const results: string[] = [];
  const compared = (result: string) => void results.push(result);
  const comparison = new PartitionComparison(
    partition,
    snapshot.connect(sendAtOnce),
    { settings, topics, log: log.connect(), wait: pause, meters: { compared } },
    new AbortController().signal,
  );
  return { project, comparison, results };
}

test('what is published alike is the same, from the first clock on', async () => {
  const { project, comparison, results } = await given();
  expect(await comparison.step()).toBeUndefined();
  await project(2);
  expect(await comparison.step()).toBeUndefined();
  expect(results).toEqual([]);
  for (const blocks of [1, 40, 9]) {
    await project(blocks);
    expect(await comparison.step()).toBeUndefined();
  }
  expect(new Set(results)).toEqual(new Set(['same']));
  expect(results.length).toBeGreaterThan(500);
  expect(comparison.blocks).toBe(50);
});

test('the first message that is another one is named, with what differs', async () => {
  const { project, comparison, results } = await given();
  await comparison.step();
  await project(2);
  await comparison.step();
  await project(10);
  const takeOut = replaceMethod(FactFeed.prototype, 'withdraw', () => () => undefined);
  try {
    expect(await comparison.step()).toMatch(/^offset \d+, message \d+: the feed has .*, this build makes /);
  } finally {
    takeOut();
  }
  expect(results.at(-1)).toBe('different');
});
