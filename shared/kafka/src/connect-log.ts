import { randomUUID } from 'node:crypto';
import { Cluster } from './cluster/cluster.js';
import { GroupConsumer } from './consume/consume-partitions.js';
import { TopicFollower } from './consume/follow-topic.js';
import { Parking } from './consume/park-records.js';
import type {
  Appender,
  AppenderOptions,
  ConnectOptions,
  ConsumeOptions,
  FencedPublisher,
  FencedPublisherOptions,
  Following,
  FollowOptions,
  Log,
  PartitionConsumer,
  TopicSpec,
} from './log.js';
import { GroupCommit } from './produce/group-commit.js';
import { Transactor } from './produce/transactions.js';
import { countPartitions, createTopics, verifyTopics } from './topics/manage-topics.js';
import { LastRecordReader } from './topics/read-last-records.js';
import { endOffsetReader } from './topics/read-offsets.js';

const END_OFFSETS_TIMEOUT_MS = 1_000;
const LAST_RECORDS_MAX = 16;
const LAST_RECORDS_TIMEOUT_MS = 10_000;
const PUBLISHING_CLUSTERS_MAX = 4;

/**
 * Connects to the log. Connections are opened when first needed, and again when they are lost; nothing here waits for
 * Kafka to be up. `close()` closes everything that was opened from it.
 */
export function connectLog(options: ConnectOptions): Log {
  return new KafkaLog(options);
}

class KafkaLog implements Log {
  readonly #options: ConnectOptions;
  readonly #clusters: Cluster[] = [];
  readonly #publishing: Cluster[] = [];
  /** What was opened, with what depends on it first. */
  readonly #closing: (() => Promise<void>)[] = [];
  readonly #queries: Cluster;
  readonly #endOffsets: (topic: string, timeoutMs: number) => Promise<readonly bigint[]>;
  readonly #lastRecords: LastRecordReader;
  #publishers = 0;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#queries = this.#openCluster();
    this.#endOffsets = endOffsetReader(this.#queries);
    this.#lastRecords = new LastRecordReader(this.#openCluster(), this.#endOffsets);
  }

  readonly createTopics = (specs: readonly TopicSpec[]) => createTopics(this.#queries, specs);

  readonly verifyTopics = (specs: readonly TopicSpec[]): Promise<void> => verifyTopics(this.#queries, specs);

  readonly partitionsOf = (topic: string, { timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<number> =>
    countPartitions(this.#queries, topic, timeoutMs);

  readonly endOffsets = (topic: string, { timeoutMs = END_OFFSETS_TIMEOUT_MS } = {}): Promise<readonly bigint[]> =>
    this.#endOffsets(topic, timeoutMs);

  readonly readLastRecords = (
    topic: string,
    partition: number,
    { recordsMax = LAST_RECORDS_MAX, timeoutMs = LAST_RECORDS_TIMEOUT_MS } = {},
  ) => this.#lastRecords.read(topic, partition, { recordsMax, timeoutMs });

  readonly createAppender = (appenderOptions: AppenderOptions = {}): Appender => {
    const { clientId, logger } = this.#options;
    const parts = {
      cluster: this.#openCluster(),
      transactions: this.#clusterForPublishing(),
      transactionalId: `${clientId}-${randomUUID()}-atomic`,
      logger,
    };
    const appender = new GroupCommit(parts, appenderOptions);
    this.#closing.push(() => appender.close());
    return appender;
  };

  readonly createFencedPublisher = (publisherOptions: FencedPublisherOptions): FencedPublisher =>
    new Transactor(this.#clusterForPublishing(), publisherOptions);

  readonly followTopic = (followOptions: FollowOptions): Following => {
    const { logger } = this.#options;
    const parts = { cluster: this.#openCluster(), logger, now: this.#now, endOffsets: this.#endOffsets };
    const follower = new TopicFollower(parts, followOptions);
    this.#closing.unshift(() => follower.stop());
    return follower;
  };

  readonly consumePartitions = <T>(consumeOptions: ConsumeOptions<T>): PartitionConsumer => {
    const { logger } = this.#options;
    const parking = new Parking(this.createAppender(), consumeOptions.parkedTopic, (topic) => this.partitionsOf(topic));
    const parts = { fetching: this.#openCluster(), group: this.#openCluster(), logger, now: this.#now, parking };
    const consumer = new GroupConsumer(parts, consumeOptions);
    this.#closing.unshift(() => consumer.stop());
    return consumer;
  };

  readonly close = async (): Promise<void> => {
    // Readers first: their handlers may still publish and park.
    for (const close of this.#closing.splice(0)) {
      await close();
    }
    for (const cluster of this.#clusters.splice(0)) {
      cluster.close();
    }
  };

  get #now(): () => number {
    return this.#options.now ?? Date.now;
  }

  #openCluster(): Cluster {
    const cluster = new Cluster(this.#options);
    this.#clusters.push(cluster);
    return cluster;
  }

  /** Publishers share a few connections. */
  #clusterForPublishing(): Cluster {
    const index = this.#publishers % PUBLISHING_CLUSTERS_MAX;
    this.#publishers += 1;
    this.#publishing[index] ??= this.#openCluster();
    return this.#publishing[index];
  }
}
