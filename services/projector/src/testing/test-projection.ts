import { randomBytes } from 'node:crypto';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog, type PartitionBatch, type StoredRecord } from '@makerbook/kafka';
import { testParts } from '@makerbook/parts';
import { connectPostgres, migrate } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import { type LoggedFact, readFact } from '../fold/read-facts.js';
import type { Projector } from '../own/project-log.js';
import { openProjectionStore, readProjection } from '../store/open-store.js';
import { createTestProjector, testPartition, testPartitions } from './create-test-projector.js';

export { testPartition, testPartitions };

/** A deployment with its own database, topics and keys on the run's real parts, projected by hand. */
export type TestDeployment = Awaited<ReturnType<typeof deploy>>;

const SLOW_MS = 60_000;
const fresh = { assertOwned: () => {}, park: () => Promise.reject(new Error('parked')) };

export async function deploy() {
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
  const log = connectLog({ brokers: parts.kafkaBrokers.split(','), clientId: 'projector-test', logger: silentLogger });
  await log.createTopics(topicSpecs(topics, testPartitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  return {
    postgres,
    databaseUrl,
    log,
    prefix,
    topics,
    /** Settings of a projector on this deployment, with any free port. */
    environment: {
      KAFKA_BROKERS: parts.kafkaBrokers,
      PARTITIONS: String(testPartitions),
      TOPIC_PREFIX: prefix,
      DATABASE_URL: databaseUrl,
      OPS_PORT: '0',
      LOG_LEVEL: 'error',
    },
    /** A projector like that of another process: the two share only the real parts. */
    projector: () =>
      createTestProjector({
        store: openProjectionStore(postgres, 2),
        // A projector that is run by hand retries nothing.
        createFencedPublisher: (options) => log.createFencedPublisher({ ...options, timeoutMs: SLOW_MS }),
        log,
        topics,
        prefix,
        commitTransitionsMax: 50,
        commitFactsMax: 1000,
        quarantinedMakersMax: 3,
      }),
    /** The offset of the next fact whose rows are not committed. */
    position: async () => (await readProjection(postgres, testPartition)).nextOffset,
    stop: async () => {
      await log.close();
      await postgres.close();
    },
  };
}

/** Does the work as a role of Postgres with these rights. */
export async function asRole(
  { postgres, databaseUrl }: TestDeployment,
  grants: readonly string[],
  work: (url: string) => Promise<void>,
): Promise<void> {
  const role = `role_${randomBytes(4).toString('hex')}`;
  await postgres.query(`create role ${role} login password 'secret'`);
  for (const grant of grants) await postgres.query(`grant ${grant} to ${role}`);
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = 'secret';
  try {
    await work(url.href);
  } finally {
    await postgres.query(`drop owned by ${role}`);
    await postgres.query(`drop role ${role}`);
  }
}

/** The records as one batch that begins at `fromOffset`. */
function batchOf(records: readonly StoredRecord[], fromOffset: bigint): PartitionBatch<LoggedFact> {
  const last = records.at(-1);
  return {
    partition: testPartition,
    records: records.map((record) => readFact(record, testPartitions)),
    fromOffset,
    nextOffset: last === undefined ? fromOffset : last.offset + 1n,
  };
}

/** Appends the records of the stream that the log lacks, at their offsets. The stream must have no gaps. */
export async function appendAll({ log, topics }: TestDeployment, stream: readonly StoredRecord[]): Promise<void> {
  const end = (await log.endOffsets(topics.makerEvents, { timeoutMs: SLOW_MS }))[testPartition] ?? 0n;
  const missing = stream.filter(({ offset }) => offset >= end);
  if (missing.length === 0) return;
  const appender = log.createAppender({ lingerMs: 0, timeoutMs: SLOW_MS });
  for (let at = 0; at < missing.length; at += 200) {
    await appender.append(
      missing.slice(at, at + 200).map(({ key, value, headers }) => {
        return { topic: topics.makerEvents, partition: testPartition, key, value, headers };
      }),
    );
  }
  await appender.close();
}

/** The stream without gaps, like that of a log without control records. */
export function withoutGaps(stream: readonly StoredRecord[]): StoredRecord[] {
  return stream.map((record, index) => ({ ...record, offset: BigInt(index) }));
}

/** Projects the stream from where the rows are, until all is committed. */
export async function projectAll(
  deployment: TestDeployment,
  projector: Projector,
  stream: readonly StoredRecord[],
): Promise<void> {
  await appendAll(deployment, stream);
  const position = await projector.positionOf(testPartition);
  const left = stream.filter(({ offset }) => offset >= position);
  if (left.length > 0) await projector.handleBatch(batchOf(left, position), fresh);
  await flush(projector);
}

/** Waits until all that was published of the partition is committed. */
async function flush(projector: Projector): Promise<void> {
  const committer = projector.owned.get(testPartition)?.taken.committer;
  while (committer?.underWay !== undefined) await committer.underWay;
  committer?.assertGood();
}
