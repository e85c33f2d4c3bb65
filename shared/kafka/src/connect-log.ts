import { randomUUID } from 'node:crypto';
import { Cluster } from './cluster/cluster.js';
import { ConsumerLoop } from './consume/consume-partitions.js';
import { POLL_MS_MAX, TopicFollower } from './consume/follow-topic.js';
import { parkIn } from './consume/park-records.js';
import type { ConnectOptions, Log } from './log.js';
import { GroupCommit } from './produce/group-commit.js';
import { BatchStore } from './produce/store-batches.js';
import { takeProducerId } from './produce/take-producer-id.js';
import { Transactor } from './produce/transactions.js';
import { alterTopic, countPartitions, createTopics, verifyTopics } from './topics/manage-topics.js';
import { LATEST, readOffsets } from './topics/read-offsets.js';
import { readLastRecords, readRange, readRecords } from './topics/read-partition.js';

const END_OFFSETS_TIMEOUT_MS = 1_000;
const OFFSETS_AT_TIMEOUT_MS = 10_000;
const SKIP_TIMEOUT_MS = 60_000;
/** Publishers share the connections of this many clusters. */
const PUBLISHING_CLUSTERS = 4;

/**
 * Connects to the log. Connections open on first use, and again after a loss. Nothing here waits for Kafka to be up.
 * `close()` closes everything that was opened from the log.
 */
export function connectLog(options: ConnectOptions): Log {
  const { clientId, logger } = options;
  const clusters: Cluster[] = [];
  const open = () => {
    const cluster = new Cluster(options);
    clusters.push(cluster);
    return cluster;
  };
  const queries = open();
  const reading = open();
  const publishing = Array.from({ length: PUBLISHING_CLUSTERS }, open);
  let publishers = 0;
  const nextPublishing = () => {
    publishers += 1;
    return publishing[publishers % PUBLISHING_CLUSTERS] as Cluster;
  };
  /** Batches of all publishers share requests. */
  const batches = new BatchStore(open());
  const readers = new Set<() => Promise<void>>();
  const writers = new Set<() => Promise<void>>();

  const log: Log = {
    createTopics: (specs) => createTopics(queries, specs),
    verifyTopics: (specs) => verifyTopics(queries, specs),
    alterTopic: (topic, config) => alterTopic(queries, topic, config),
    partitionsOf: (topic, { timeoutMs } = {}) => countPartitions(queries, topic, timeoutMs),
    endOffsets: (topic, { timeoutMs = END_OFFSETS_TIMEOUT_MS } = {}) => readOffsets(queries, topic, LATEST, timeoutMs),
    offsetsAt: async (topic, timestampMs) => {
      const found = await readOffsets(reading, topic, BigInt(timestampMs), OFFSETS_AT_TIMEOUT_MS);
      return found.map((offset) => (offset < 0n ? undefined : offset));
    },
    readLastRecords: (topic, partition) => readLastRecords(reading, { topic, partition }),
    readRecords: (place, offsets) => readRecords(reading, place, offsets),
    readRange: (place, from, to) => readRange(reading, place, from, to),
    createAppender: ({ lingerMs = 2, timeoutMs = 5_000, isCompressed = false, isOnce = false } = {}) => {
      const transactionalId = `${clientId}-${randomUUID()}-atomic`;
      const transactions = nextPublishing();
      const openTransactor = () => new Transactor(transactions, { transactionalId, timeoutMs, isCompressed });
      const takeId = () => takeProducerId(transactions, timeoutMs);
      const store = new BatchStore(open(), { lingerMs });
      const appender = new GroupCommit(store, openTransactor, { timeoutMs, isCompressed }, isOnce ? takeId : undefined);
      writers.add(appender.close);
      return appender;
    },
    skipOffsets: (place, offsets, transactionalId) => {
      const options = { transactionalId, timeoutMs: SKIP_TIMEOUT_MS, isCompressed: true };
      return new Transactor(nextPublishing(), options).skip(place, offsets);
    },
    createFencedPublisher: (publisherOptions) => new Transactor(nextPublishing(), publisherOptions, batches),
    followTopic: (followOptions) => {
      const follower = new TopicFollower(new Cluster(options, POLL_MS_MAX), logger, followOptions);
      const stop = async () => {
        await follower.stop();
        // Forget this follower: a process opens and stops many.
        readers.delete(stop);
      };
      readers.add(stop);
      return { ...follower, stop };
    },
    consumePartitions: (consumeOptions) => {
      const park = parkIn(consumeOptions.parkedTopic, log.createAppender());
      const consumer = new ConsumerLoop({ fetching: open(), offsets: open(), logger, park }, consumeOptions);
      readers.add(consumer.stop);
      return consumer;
    },
    close: async () => {
      // Close readers first: their handlers may still publish and park.
      for (const close of [...[...readers].reverse(), ...writers]) await close();
      for (const cluster of clusters) cluster.close();
    },
  };
  return log;
}
