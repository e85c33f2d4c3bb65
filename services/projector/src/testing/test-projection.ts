import { deepStrictEqual } from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TopicNames, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog, type Log, type PartitionBatch, type StoredRecord } from '@makerbook/kafka';
import { testParts } from '@makerbook/local-stack';
import { connectPostgres, hashReadModel, migrate, type Postgres, type ReadModelHash } from '@makerbook/postgres';
import { connectRedis, createPartitionRefresher, type RedisConnection } from '@makerbook/redis';
import { silentLogger } from '@makerbook/telemetry';
import { readFeedEnd } from '../compare-feeds.js';
import { createProjector, type Projector, type ProjectorParts } from '../project-events.js';
import { type LoggedFact, readFact } from '../read-facts.js';
import { createCacheRefresh } from '../refresh-cache.js';
import { createTurns } from '../take-turns.js';

/** For live tests: one deployment's database, topics and keys on the run's real parts, projected by hand. */
export interface TestDeployment {
  readonly postgres: Postgres;
  readonly databaseUrl: string;
  readonly redis: RedisConnection;
  readonly log: Log;
  readonly prefix: string;
  readonly topics: TopicNames;
  readonly refreshes: string[];
  /** Settings of a projector on this deployment; its port is to be found out. */
  readonly environment: Readonly<Record<string, string>>;
  /** A projector as a process of its own would be: nothing is shared with another one but the real parts. */
  readonly projector: (overrides?: Partial<ProjectorParts>) => Projector;
  /** Everything that stands on a feed of the partition now, as text. */
  readonly readFeed: (topic: string) => Promise<FeedMessage[]>;
  readonly hash: () => Promise<ReadModelHash>;
  readonly stop: () => Promise<void>;
}

export interface FeedMessage {
  readonly id: string;
  readonly key: string;
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

export const testPartition = 1;
export const testPartitions = 4;
const SLOW_MS = 60_000;
export const fresh = { heartbeat: () => {}, isStale: () => false, park: () => Promise.reject(new Error('parked')) };

const noMeters = { committed: () => {}, published: () => {}, taken: () => {} };

export async function deploy(): Promise<TestDeployment> {
  const parts = testParts();
  const prefix = `projector-${randomBytes(4).toString('hex')}.`;
  const topics = topicNames(prefix);
  const databaseUrl = await parts.databaseUrl();
  await migrate({ url: databaseUrl, connectTimeoutMs: SLOW_MS });
  const postgres = connectPostgres({
    url: databaseUrl,
    poolMax: 4,
    connectTimeoutMs: SLOW_MS,
    statementTimeoutMs: SLOW_MS,
  });
  const redis = connectRedis({
    url: parts.redisUrl,
    keyPrefix: prefix,
    logger: silentLogger,
    commandTimeoutMs: SLOW_MS,
    connectTimeoutMs: SLOW_MS,
  });
  const log = connectLog({ brokers: parts.kafkaBrokers.split(','), clientId: 'projector-test', logger: silentLogger });
  await Promise.all([
    redis.waitUntilReady(SLOW_MS),
    log.createTopics(topicSpecs(topics, testPartitions).map((spec) => ({ ...spec, replicationFactor: 1 }))),
  ]);
  const refreshes: string[] = [];
  return {
    postgres,
    databaseUrl,
    redis,
    log,
    prefix,
    topics,
    refreshes,
    environment: {
      KAFKA_BROKERS: parts.kafkaBrokers,
      PARTITIONS: String(testPartitions),
      TOPIC_PREFIX: prefix,
      DATABASE_URL: databaseUrl,
      REDIS_URL: parts.redisUrl,
      REDIS_KEY_PREFIX: prefix,
      OPS_PORT: '0',
      LOG_LEVEL: 'error',
    },
    projector: (overrides = {}) =>
      createProjector({
        postgres,
        // By hand nothing is tried again.
        createFencedPublisher: (options) =>
          log.createFencedPublisher({ ...options, timeoutMs: SLOW_MS, transactionTimeoutMs: 2 * SLOW_MS }),
        topics,
        transactionalIdPrefix: prefix,
        cachedOrdersMax: 1000,
        readFeedEnd: (partition) =>
          readFeedEnd(partition, { log, topics: overrides.topics ?? topics, logger: silentLogger }),
        databaseName: 'of the test',
        partitions: testPartitions,
        routingGraceSeconds: 60,
        commitTransitionsMax: 50,
        turns: createTurns(1000, 5),
        haltedMakersMax: 3,
        markIntervalMs: 0,
        refreshCache: createCacheRefresh(createPartitionRefresher(redis), silentLogger, (outcome) =>
          refreshes.push(outcome),
        ),
        meters: noMeters,
        nowMs: () => performance.now(),
        ...overrides,
      }),
    readFeed: (topic) => readFeed(log, topic),
    hash: () => hashReadModel(postgres),
    stop: async () => {
      await log.close();
      await Promise.all([postgres.close(), redis.close()]);
    },
  };
}

/** The records as one batch that begins at `fromOffset`. */
export function batchOf(records: readonly StoredRecord[], fromOffset: bigint): PartitionBatch<LoggedFact> {
  const last = records.at(-1);
  return {
    partition: testPartition,
    records: records.map((record) => readFact(record, testPartitions)),
    fromOffset,
    nextOffset: last === undefined ? fromOffset : last.offset + 1n,
  };
}

/** Hands the stream over in batches, as the consumer loop does, from where the projection stands. */
export async function projectAll(
  projector: Projector,
  stream: readonly StoredRecord[],
  lengthOf: (batch: number) => number = () => stream.length,
): Promise<void> {
  let position = await projector.positionOf(testPartition);
  for (let batch = 0; ; batch += 1) {
    const left = stream.filter(({ offset }) => offset >= position);
    if (left.length === 0) return;
    const next = batchOf(left.slice(0, lengthOf(batch)), position);
    await projector.handleBatch(next, fresh);
    position = next.nextOffset;
  }
}

/** A repeat is the same message again: the first of each id, in order. Throws where it is another one. */
export function withoutRepeats(messages: readonly FeedMessage[]): FeedMessage[] {
  const first = new Map<string, FeedMessage>();
  for (const message of messages) {
    const known = first.get(message.id);
    if (known === undefined) first.set(message.id, message);
    else deepStrictEqual(message, known);
  }
  return [...first.values()];
}

async function readFeed(log: Log, topic: string): Promise<FeedMessage[]> {
  const messages: FeedMessage[] = [];
  const following = log.followTopic({
    topic,
    from: 'beginning',
    onRecords: (_partition, records) => {
      for (const { key, value, headers } of records) {
        messages.push({ id: headers['ce_id'] ?? '', key, value: value === null ? null : value.toString(), headers });
      }
    },
  });
  await following.caughtUp;
  await following.stop();
  return messages;
}
