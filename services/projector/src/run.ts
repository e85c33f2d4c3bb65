import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { type Running, serveOps } from '@makerbook/http';
import { connectLog } from '@makerbook/kafka';
import { connectPostgres, migrate, readProjection } from '@makerbook/postgres';
import { connectRedis, createPartitionRefresher } from '@makerbook/redis';
import { kafkaConnection } from '@makerbook/settings';
import type { Telemetry } from '@makerbook/telemetry';
import { judgeLiveness, judgeReadiness, type Signs } from './check-health.js';
import type { Step } from './commit-stretch.js';
import { assertNotBehind, readFeedEnd } from './compare-feeds.js';
import type { ProjectorSettings } from './env.js';
import { createMeters } from './measure-projection.js';
import { createProjector } from './project-events.js';
import { createCacheRefresh } from './refresh-cache.js';
import { createTurns } from './take-turns.js';

/** What a test may reach into. */
export interface TestHooks {
  readonly onStep?: (step: Step, partition: number) => Promise<void> | void;
}

/** A running projector. */
export interface RunningProjector extends Running {
  readonly opsPort: number;
  readonly failed: Promise<Error>;
}

/**
 * Starts the projector: the schema is brought up to this build, topics and feeds are checked, and the partitions that the
 * group gives to this process are projected until `stop`.
 * @throws PostgresUnavailable, PostgresRefused, TopicMismatch, LogUnavailable; FatalError where the database is older than
 * the feeds
 */
export async function runProjector(
  settings: ProjectorSettings,
  telemetry: Telemetry,
  hooks: TestHooks = {},
): Promise<RunningProjector> {
  const { logger } = telemetry;
  const topics = topicNames(settings.TOPIC_PREFIX);
  const closing: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  try {
    const taken = await migrate({ url: settings.DATABASE_URL });
    if (taken.length > 0) logger.info({ migrations: taken }, 'the schema was brought up to this build');

    const postgres = connectPostgres({
      url: settings.DATABASE_URL,
      poolMax: settings.POSTGRES_CONNECTIONS_MAX,
      statementTimeoutMs: settings.STATEMENT_TIMEOUT_MS,
      applicationName: 'makerbook-projector',
      onConnectionLost: (error) => logger.warn({ reason: error.message }, 'a connection to Postgres was lost'),
    });
    closing.push(postgres.close);
    const redis = connectRedis({
      url: settings.REDIS_URL,
      keyPrefix: settings.REDIS_KEY_PREFIX,
      logger,
      clientName: 'makerbook-projector',
    });
    closing.push(redis.close);
    const log = connectLog({ ...kafkaConnection(settings), clientId: 'makerbook-projector', logger });
    closing.push(log.close);
    await log.verifyTopics(topicSpecs(topics, settings.PARTITIONS));
    const databaseName = nameOfDatabase(settings.DATABASE_URL);
    const feedEndOf = (partition: number) => readFeedEnd(partition, { log, topics, logger });
    // Before the group is joined, so that a live projector on the right database is not disturbed.
    await Promise.all(
      Array.from({ length: settings.PARTITIONS }, async (_, partition) => {
        const end = await feedEndOf(partition);
        if (end === undefined) return;
        assertNotBehind(partition, await readProjection(postgres, partition), end, databaseName);
      }),
    );
    await redis.waitUntilReady(1_000);

    const meters = createMeters();
    const projector = createProjector({
      postgres,
      createFencedPublisher: log.createFencedPublisher,
      topics,
      transactionalIdPrefix: `${settings.TOPIC_PREFIX}makerbook-`,
      refreshCache: createCacheRefresh(createPartitionRefresher(redis), logger, meters.refreshed),
      cachedOrdersMax: settings.CACHED_ORDERS_PER_PARTITION_MAX,
      readFeedEnd: feedEndOf,
      databaseName,
      partitions: settings.PARTITIONS,
      routingGraceSeconds: settings.ROUTING_GRACE_SECONDS,
      commitTransitionsMax: settings.COMMIT_TRANSITIONS_MAX,
      turns: createTurns(settings.ORDERS_UNDER_WAY_MAX, settings.COMMIT_TRANSITIONS_MAX / 10),
      haltedMakersMax: settings.HALTED_MAKERS_MAX,
      markIntervalMs: settings.MARK_INTERVAL_MS,
      meters,
      nowMs: () => performance.now(),
      ...hooks,
    });

    let fail: (error: Error) => void = () => {};
    let failure: Error | undefined;
    const failed = new Promise<Error>((resolve) => {
      fail = (error) => {
        failure = error;
        resolve(error);
      };
    });
    const consumer = log.consumePartitions({
      groupId: `${settings.TOPIC_PREFIX}makerbook-projector`,
      topic: topics.makerEvents,
      parkedTopic: topics.parked,
      batchRecordsMax: settings.BATCH_FACTS_MAX,
      decode: projector.decode,
      positionOf: projector.positionOf,
      handleBatch: projector.handleBatch,
      onRevoked: projector.onRevoked,
      onParked: meters.parked,
      onFatal: fail,
    });
    closing.push(consumer.stop);
    meters.observe({
      lag: consumer.lag,
      nowMs: Date.now,
      ownedPartitions: () => projector.owned.size,
      cachedOrders: () => sum([...projector.owned.values()].map(({ cache }) => cache.size())),
      haltedMakers: () => sum([...projector.owned.values()].map(({ halted }) => halted.size)),
    });

    const startedAtMs = Date.now();
    const signs = (): Signs => ({
      nowMs: Date.now(),
      startedAtMs,
      consumer: consumer.health(),
      failure: failure?.message,
      lagMessages: [...consumer.lag().values()].reduce((total, lag) => total + lag, 0n),
    });
    const ops = await serveOps({
      host: settings.HOST,
      port: settings.OPS_PORT,
      live: () => judgeLiveness(signs(), settings.LIVE_SILENCE_MS_MAX),
      ready: async () => judgeReadiness(signs(), await answerOf(postgres.check()), redis.isReady()),
      serveMetrics: telemetry.serveMetrics,
    });
    closing.push(ops.stop);
    logger.info({ opsPort: ops.port, partitions: settings.PARTITIONS }, 'the projector runs');
    return { stop, failed, opsPort: ops.port };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Without user and password. */
function nameOfDatabase(url: string): string {
  if (!URL.canParse(url)) return 'of DATABASE_URL';
  const { host, pathname } = new URL(url);
  return `${decodeURIComponent(pathname.slice(1))} on ${host}`;
}

function answerOf(check: Promise<void>): Promise<string> {
  return check.then(
    () => 'ok',
    (error: Error) => error.message,
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
