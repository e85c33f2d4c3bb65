import { randomUUID } from 'node:crypto';
import { openAppender } from './append-records.js';
import { openConsumer } from './consume-partitions.js';
import { TopicsNotAsTold } from './failures.js';
import { openFollowing } from './follow-topic.js';
import type { Appender, AppenderOptions, ConnectOptions, Log } from './log.js';
import { countPartitions, createTopics, verifyTopics } from './manage-topics.js';
import { openParking } from './park-records.js';
import { openFencedPublisher } from './publish-fenced.js';
import { type Connections, reachBrokers } from './reach-brokers.js';
import { endOffsetReader } from './read-end-offsets.js';
import { lastRecordReader } from './read-last-records.js';

const END_OFFSETS_TIMEOUT_MS = 1_000;
const LAST_RECORDS_MAX = 16;
const LAST_RECORDS_TIMEOUT_MS = 10_000;
const PUBLISHING_CONNECTIONS_MAX = 4;

/**
 * Connects to the log. Connections are opened when first needed, and again when they are lost; nothing here waits for
 * Kafka to be up. `close()` closes everything that was opened from it.
 */
export function connectLog(options: ConnectOptions): Log {
  const opened: Connections[] = [];
  const closing: (() => Promise<void>)[] = [];
  const publishing: Connections[] = [];
  let publishers = 0;

  function reach(): Connections {
    const connections = reachBrokers(options);
    opened.push(connections);
    return connections;
  }

  function reachForPublishing(): Connections {
    const index = publishers % PUBLISHING_CONNECTIONS_MAX;
    publishers += 1;
    publishing[index] ??= reach();
    return publishing[index];
  }

  const now = options.now ?? Date.now;
  const asking = reach();
  const readEndOffsets = endOffsetReader(asking);
  const readLastRecords = lastRecordReader(reach(), readEndOffsets);

  async function partitionsOf(topic: string, { timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<number> {
    const count = (await countPartitions(asking, [{ name: topic }], timeoutMs)).get(topic);
    if (count === undefined) {
      throw new TopicsNotAsTold(`topic ${topic} is missing`);
    }
    return count;
  }

  function createAppender(appenderOptions: AppenderOptions = {}): Appender {
    const name = `${options.clientId}-${randomUUID()}`;
    const appender = openAppender(
      { connections: reach(), transactions: reachForPublishing(), name, logger: options.logger },
      appenderOptions,
    );
    closing.push(appender.close);
    return appender;
  }

  return {
    createTopics: (specs) => createTopics(asking, specs),
    verifyTopics: (specs) => verifyTopics(asking, specs),
    partitionsOf,
    endOffsets: (topic, { timeoutMs = END_OFFSETS_TIMEOUT_MS } = {}) => readEndOffsets(topic, timeoutMs),
    readLastRecords: (topic, partition, { recordsMax = LAST_RECORDS_MAX, timeoutMs = LAST_RECORDS_TIMEOUT_MS } = {}) =>
      readLastRecords(topic, partition, { recordsMax, timeoutMs }),
    createAppender,
    createFencedPublisher: (publisherOptions) => openFencedPublisher(reachForPublishing(), publisherOptions),
    followTopic: (followOptions) => {
      const following = openFollowing(
        { connections: reach(), logger: options.logger, now, endOffsets: readEndOffsets },
        followOptions,
      );
      closing.unshift(following.stop);
      return following;
    },
    consumePartitions: (consumeOptions) => {
      const park = openParking(createAppender(), consumeOptions.parkedTopic, partitionsOf);
      const consumer = openConsumer(
        { fetching: reach(), group: reach(), logger: options.logger, now, park },
        consumeOptions,
      );
      closing.unshift(consumer.stop);
      return consumer;
    },
    close: async () => {
      // Readers first: their handlers may still publish and park.
      for (const close of closing.splice(0)) {
        await close();
      }
      for (const connections of opened.splice(0)) {
        connections.close();
      }
    },
  };
}
