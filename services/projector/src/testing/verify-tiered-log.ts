import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog, type Log } from '@makerbook/kafka';
import { findFreePorts, startKafka, startPostgres } from '@makerbook/parts';
import { connectPostgres, migrate, projectedPositions } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry } from '@makerbook/telemetry';
import { projectorSettings, rebuildSettings } from '../env.js';
import { rebuildReadModel, verifyReadModel } from '../rebuild/rebuild-read-model.js';
import { runProjector } from '../run.js';
import { blockAt, makersOf, startSeconds, storedRecord, submittedOf } from './generate-facts.js';

/**
 * A log whose old segments are in tiered storage (KIP-405), on parts of its own: the read model is compared with a replay of it, and
 * made anew from it. `node verify-tiered-log.js --jar kafka-storage-4.3.1-test.jar`: Kafka's own tiered storage for tests, which
 * keeps segments in another folder; a production broker has a plugin for an object store in its place.
 */
const { values } = parseArgs({
  options: { jar: { type: 'string' }, orders: { type: 'string', default: '30000' } },
});
if (values.jar === undefined)
  throw new Error('--jar: org.apache.kafka:kafka-storage of the version of the broker, classifier test');

const SEGMENT_BYTES = 1_048_576;
const MAKERS = 50;
const topics = topicNames();
const folder = mkdtempSync(join(tmpdir(), 'makerbook-tiered-'));
chmodSync(folder, 0o711);
const [kafkaPort = 0, postgresPort = 0] = await findFreePorts(2);
const kafka = await startKafka({
  dataDir: join(folder, 'kafka'),
  port: kafkaPort,
  properties: {
    'remote.log.storage.system.enable': 'true',
    'remote.log.storage.manager.class.name': 'org.apache.kafka.server.log.remote.storage.LocalTieredStorage',
    'remote.log.storage.manager.class.path': values.jar,
    'rsm.config.dir': join(folder, 'tiered'),
    'remote.log.metadata.manager.listener.name': 'PLAINTEXT',
    'rlmm.config.remote.log.metadata.topic.replication.factor': '1',
    'rlmm.config.remote.log.metadata.topic.num.partitions': '1',
    'remote.log.manager.task.interval.ms': '500',
    'log.retention.check.interval.ms': '500',
    'log.initial.task.delay.ms': '500',
  },
});
const database = await startPostgres({ dataDir: join(folder, 'postgres'), port: postgresPort });
const log = connectLog({ brokers: [kafka.brokers], clientId: 'tiered', logger: silentLogger });
try {
  await migrate({ url: database.url });
  const tiered = {
    'remote.storage.enable': 'true',
    'local.retention.ms': '1000',
    'segment.bytes': String(SEGMENT_BYTES),
  };
  await log.createTopics(
    topicSpecs(topics, 1).map((spec) => {
      const config = spec.name === topics.makerEvents ? { ...spec.config, ...tiered } : spec.config;
      return { ...spec, config, replicationFactor: 1 };
    }),
  );
  await submitOrders(log);
  const [end = 0n] = await log.endOffsets(topics.makerEvents);
  await projectAll(end);
  while (bytesIn('kafka/log') > SEGMENT_BYTES) await pause(500);
  console.log(`${end} facts: ${bytesIn('kafka/log')} bytes on the broker, ${bytesIn('tiered')} in tiered storage`);
  const [oldest] = await log.offsetsAt(topics.makerEvents, 0);
  if (oldest !== 0n) throw new Error(`the oldest fact is found at ${oldest}`);
  await timed('read', () => readAll(log));
  const options = {
    database: { url: database.url },
    log,
    settings: readSettings(rebuildSettings, environment()),
    report: () => undefined,
  };
  await timed('verify', async () => report(await verifyReadModel(options)));
  await timed('rebuild', async () => report(await rebuildReadModel(options)));
} finally {
  await log.close();
  await Promise.all([kafka.stop(), database.stop()]);
  rmSync(folder, { recursive: true, force: true });
}

function environment(): Record<string, string> {
  return {
    KAFKA_BROKERS: kafka.brokers,
    PARTITIONS: '1',
    DATABASE_URL: database.url,
    OPS_PORT: '0',
    LOG_LEVEL: 'warn',
  };
}

async function submitOrders({ createAppender }: Log): Promise<void> {
  const appender = createAppender({ timeoutMs: 60_000 });
  const expiresAt = startSeconds + 10_000;
  const facts = makersOf(0, 1, MAKERS).flatMap((maker) =>
    Array.from({ length: Number(values.orders) / MAKERS }, (_, number) => submittedOf(maker, number, expiresAt)),
  );
  const records = [...facts, blockAt(1, startSeconds)].map((fact) => {
    const { key, value, headers } = storedRecord(fact, { partition: 0, offset: 0n }, startSeconds * 1000);
    return { topic: topics.makerEvents, partition: 0, key, value, headers };
  });
  for (let at = 0; at < records.length; at += 200) await appender.append(records.slice(at, at + 200));
  await appender.close();
}

async function projectAll(end: bigint): Promise<void> {
  const settings = readSettings(projectorSettings, environment());
  const projector = await runProjector(settings, { ...startTelemetry('projector', settings), logger: silentLogger });
  const postgres = connectPostgres({ url: database.url, poolMax: 1 });
  while (((await projectedPositions(postgres)).get(0) ?? 0n) < end) await pause(100);
  await postgres.close();
  await projector.stop();
}

async function readAll({ followTopic }: Log): Promise<void> {
  const following = followTopic({ topic: topics.makerEvents, from: 'beginning', onRecords: () => undefined });
  await following.caughtUp;
  await following.stop();
}

async function timed(what: string, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await work();
  console.log(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

function report(differences: readonly string[]): void {
  if (differences.length > 0) throw new Error(differences.join('\n'));
}

/** The bytes of the log's segments. */
function bytesIn(under: string): number {
  const files = readdirSync(join(folder, under), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.includes(topics.makerEvents) && file.endsWith('.log'))
    .reduce((sum, file) => sum + (statSync(join(folder, under, file), { throwIfNoEntry: false })?.size ?? 0), 0);
}
