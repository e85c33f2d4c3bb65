import { randomUUID } from 'node:crypto';
import { topicNames } from '@makerbook/contracts-events';
import { monotonicMs, pause, retry, Unavailable, unixMs } from '@makerbook/contracts-primitives';
import { healthOf, type Running, type Starting, serveOps, startService } from '@makerbook/http';
import { connectLog, type Log, type PartitionConsumer } from '@makerbook/kafka';
import { connectPostgres, type PostgresOptions, verifySchema } from '@makerbook/postgres';
import { kafkaConnection, postgresConnection } from '@makerbook/settings';
import type { Telemetry } from '@makerbook/telemetry';
import { startPruning } from './commit/prune-rows.js';
import type { ProjectorSettings } from './env.js';
import { judgeLiveness, judgeReadiness, type Signs } from './health.js';
import { createMetrics } from './metrics.js';
import { Ownership } from './own/own-partitions.js';
import { createProjector, type Projector } from './own/project-log.js';
import { traceBatch } from './own/trace-batch.js';
import { claimWork } from './store/claim-work.js';
import { openProjectionStore } from './store/open-store.js';
import { usedTopics } from './used-topics.js';

/** Long, because hashes are looked for maker by maker. */
const PRUNE_INTERVAL_MS = 600_000;
/** Well below the time after which a claim expires. */
const CLAIM_TIMEOUT_MS = 500;

/** A look at the claims waits so long for a broker, and still ends before a claim expires. */
const KAFKA_TIMEOUT_MS = 1_000;

/** A running projector. */
export interface RunningProjector extends Running {
  readonly opsPort: number;
}

/**
 * Starts the projector. Checks the schema and the topics, and projects the partitions that this process gets until
 * `stop`. While Postgres or Kafka is down, it waits: it is alive, and not ready.
 * @throws SchemaMismatch, PostgresRefused, TopicMismatch
 */
export function runProjector(settings: ProjectorSettings, telemetry: Telemetry): Promise<RunningProjector> {
  const { logger } = telemetry;
  return startService(async ({ onStop, fail: end }) => {
    let failure: Error | undefined;
    const fail = (error: Error) => {
      failure = error;
      end(error);
    };
    let signs: (() => Signs) | undefined;
    let awaited = 'the schema and the topics are being checked';
    const { postgres, claims, log } = connect(settings, telemetry, onStop);
    const ops = await serveOps(settings, {
      live: () => (signs === undefined ? healthOf({}) : judgeLiveness(signs(), settings.LIVE_SILENCE_MS_MAX)),
      ready: async () => {
        if (signs === undefined) return healthOf({ start: awaited });
        const answer = postgres.check().then(() => 'ok');
        return judgeReadiness(signs(), await answer.catch((error: Error) => error.message));
      },
      serveMetrics: telemetry.serveMetrics,
    });
    onStop(ops.stop);
    const onAway = (reason: string) => {
      if (reason !== awaited) logger.warn({ reason }, 'the start waits for Postgres or Kafka');
      awaited = reason;
    };
    await verifyParts({ settings, postgres, log, onAway });
    const meters = createMetrics(unixMs);
    const topics = topicNames(settings.TOPIC_PREFIX);
    const source = { topic: topics.makerEvents, groupId: `${settings.TOPIC_PREFIX}makerbook-projector` };
    const store = openProjectionStore(postgres, settings.COMMITS_AT_ONCE_MAX);
    const projector = createProjector({ settings, topics, log, meters, store, wait: pause });
    const consumer = log.consumePartitions({
      ...source,
      parkedTopic: topics.parked,
      batchRecordsMax: settings.BATCH_FACTS_MAX,
      decode: projector.decode,
      positionOf: projector.positionOf,
      handleBatch: (batch, context) => traceBatch(batch, source, () => projector.handleBatch(batch, context)),
      confirmed: () => ownership.confirmed(),
      onParked: meters.parked,
      onFatal: fail,
    });
    onStop(consumer.stop);
    const states = () => Array.from(projector.owned.values(), ({ taken: { state } }) => state);
    meters.observe(states, () => lagOf(projector, consumer));
    const pruning = startPruning({
      log,
      postgres,
      makerEventsTopic: topics.makerEvents,
      owned: () => projector.owned.keys(),
      historyDays: settings.HISTORY_DAYS,
      intervalMs: PRUNE_INTERVAL_MS,
      unixMs,
      pruned: meters.pruned,
      logger,
    });
    onStop(pruning.stop);
    const claimant = { holder: randomUUID(), partitions: settings.PARTITIONS };
    const ownership: Ownership = new Ownership({
      claim: (request) => claimWork(claims, { ...claimant, ...request }),
      consumer,
      isKafkaThere: () => isThere(log, topics.makerEvents),
      onRevoked: projector.onRevoked,
      committedOf: (partition) => projector.owned.get(partition)?.taken.committer.committed,
      logger,
      onFatal: fail,
    });
    onStop(ownership.stop);
    signs = () => ({
      monotonicMs: monotonicMs(),
      consumer: consumer.health(),
      failure: failure?.message,
      claims: { lastLookAtMs: ownership.lastLookAtMs(), waitFor: ownership.waitsFor() },
      commitsWaiting: Array.from(projector.owned, ([partition, { taken }]) => [partition, taken.committer.waitsFor]),
      lagMessages: [...lagOf(projector, consumer).values()].reduce((total, lag) => total + lag, 0n),
    });
    logger.info({ opsPort: ops.port, partitions: settings.PARTITIONS }, 'the projector runs');
    return { opsPort: ops.port };
  });
}

function connect(settings: ProjectorSettings, { logger }: Telemetry, onStop: Starting['onStop']) {
  const toPostgres: PostgresOptions = {
    ...postgresConnection(settings),
    // Commits that a crash of Postgres loses are folded again.
    synchronousCommit: 'off',
    looksUpOnly: true,
    onConnectionLost: (error) => logger.warn({ reason: error.message }, 'a connection to Postgres was lost'),
  };
  const postgres = connectPostgres({
    ...toPostgres,
    poolMax: settings.POSTGRES_CONNECTIONS_MAX,
    statementTimeoutMs: settings.STATEMENT_TIMEOUT_MS,
    applicationName: 'makerbook-projector',
  });
  onStop(postgres.close);
  // Looks at the claims wait for no other statement.
  const claims = connectPostgres({
    ...toPostgres,
    poolMax: 1,
    statementTimeoutMs: CLAIM_TIMEOUT_MS,
    connectTimeoutMs: CLAIM_TIMEOUT_MS,
    applicationName: 'makerbook-projector-claims',
  });
  onStop(claims.close);
  const log = connectLog({ ...kafkaConnection(settings), clientId: 'makerbook-projector', logger });
  onStop(log.close);
  return { postgres, claims, log };
}

/** True if any broker answers, whatever it says. */
function isThere(log: Log, topic: string): Promise<boolean> {
  const asked = log.partitionsOf(topic, { timeoutMs: KAFKA_TIMEOUT_MS });
  return asked.then(
    () => true,
    (error: unknown) => !(error instanceof Unavailable),
  );
}

/** @throws SchemaMismatch, PostgresRefused, TopicMismatch */
async function verifyParts({
  settings,
  postgres,
  log,
  onAway,
}: Pick<ReturnType<typeof connect>, 'postgres' | 'log'> & {
  readonly settings: ProjectorSettings;
  readonly onAway: (reason: string) => void;
}): Promise<void> {
  const verify = async () => {
    await verifySchema(postgres);
    await log.verifyTopics(usedTopics(settings));
  };
  await retry(verify, {
    mayRepeat(error) {
      if (!(error instanceof Unavailable)) return false;
      onAway(error.message);
      return true;
    },
  });
}

/**
 * Messages between the rows and the log's end, by partition. The rows are behind what the consumer loop has handed out.
 */
function lagOf({ owned }: Projector, consumer: PartitionConsumer): ReadonlyMap<number, bigint> {
  const positions = consumer.positions();
  return new Map(
    [...consumer.lag()].map(([partition, lag]) => {
      const committed = owned.get(partition)?.taken.committer.committed.nextOffset;
      const handed = positions.get(partition) ?? 0n;
      return [partition, committed !== undefined && committed < handed ? lag + handed - committed : lag];
    }),
  );
}
