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
import { readLastRecords } from './topics/read-last-records.js';
import { offsetReader, type ReadOffsets } from './topics/read-offsets.js';

const END_OFFSETS_TIMEOUT_MS = 1_000;
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
  readonly #reading: Cluster;
  readonly #offsets: { readonly firstOffsets: ReadOffsets; readonly endOffsets: ReadOffsets };
  #publishers = 0;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#queries = this.#openCluster();
    this.#reading = this.#openCluster();
    const firstOffsets = offsetReader(this.#queries, 'EARLIEST');
    this.#offsets = { firstOffsets, endOffsets: offsetReader(this.#queries, 'LATEST') };
  }

  readonly createTopics = (specs: readonly TopicSpec[]) => createTopics(this.#queries, specs);

  readonly verifyTopics = (specs: readonly TopicSpec[]): Promise<void> => verifyTopics(this.#queries, specs);

  readonly partitionsOf = (topic: string, { timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<number> =>
    countPartitions(this.#queries, topic, timeoutMs);

  readonly endOffsets = (topic: string, { timeoutMs = END_OFFSETS_TIMEOUT_MS } = {}): Promise<readonly bigint[]> =>
    this.#offsets.endOffsets(topic, timeoutMs);

  readonly readLastRecords = (topic: string, partition: number) =>
    readLastRecords({ cluster: this.#reading, ...this.#offsets }, { topic, partition });

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
    const parts = { cluster: this.#openCluster(), logger, ...this.#offsets };
    const follower = new TopicFollower(parts, followOptions);
    this.#closing.unshift(() => follower.stop());
    return follower;
  };

  readonly consumePartitions = <T>(consumeOptions: ConsumeOptions<T>): PartitionConsumer => {
    const { logger } = this.#options;
    const parking = new Parking(this.createAppender(), consumeOptions.parkedTopic, (topic) => this.partitionsOf(topic));
    const parts = { fetching: this.#openCluster(), group: this.#openCluster(), logger, parking };
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
