import { randomUUID } from 'node:crypto';
import { openAppender } from './append-records.js';
import { TopicsNotAsTold } from './failures.js';
import type { ConnectOptions, Log } from './log.js';
import { countPartitions, createTopics, verifyTopics } from './manage-topics.js';
import { openFencedPublisher } from './publish-fenced.js';
import { type Connections, reachBrokers } from './reach-brokers.js';
import { endOffsetReader } from './read-end-offsets.js';

const END_OFFSETS_TIMEOUT_MS = 1_000;
const PUBLISHING_CONNECTIONS_MAX = 4;

/**
 * Connects to the log. Connections are opened when first needed, and again when they are lost; nothing here waits for
 * Kafka to be up. `close()` closes everything that was opened from it.
 */
export function connectLog(options: ConnectOptions): Omit<Log, 'followTopic' | 'consumePartitions'> {
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

  const asking = reach();
  const readEndOffsets = endOffsetReader(asking);

  return {
    createTopics: (specs) => createTopics(asking, specs),
    verifyTopics: (specs) => verifyTopics(asking, specs),
    partitionsOf: async (topic) => {
      const count = (await countPartitions(asking, [{ name: topic }])).get(topic);
      if (count === undefined) {
        throw new TopicsNotAsTold(`topic ${topic} is missing`);
      }
      return count;
    },
    endOffsets: (topic, { timeoutMs = END_OFFSETS_TIMEOUT_MS } = {}) => readEndOffsets(topic, timeoutMs),
    createAppender: (appenderOptions = {}) => {
      const name = `${options.clientId}-${randomUUID()}`;
      const parts = { connections: reach(), transactions: reachForPublishing(), name, logger: options.logger };
      const appender = openAppender(parts, appenderOptions);
      closing.push(appender.close);
      return appender;
    },
    createFencedPublisher: (publisherOptions) => {
      const publisher = openFencedPublisher(reachForPublishing(), publisherOptions);
      return publisher;
    },
    close: async () => {
      await Promise.all(closing.splice(0).map((close) => close()));
      for (const connections of opened.splice(0)) {
        connections.close();
      }
    },
  };
}
