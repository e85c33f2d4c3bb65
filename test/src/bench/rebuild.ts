import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog, type Log } from '@makerbook/kafka';
import { findFreePort, startKafka, startPostgres, startRedis } from '@makerbook/parts';
import { connectPostgres, migrate, type Postgres } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import { runServices, type Services } from '../kit/run-services.js';
import { deleteRows } from '../kit/save-rows.js';
import { readMetrics, sumOfMetric } from './read-metrics.js';
import { readCpu, readMemory } from './read-processes.js';
import { seedLog, TAIL_BLOCKS } from './seed-log.js';
import { printTable, round } from './summarise.js';

const PARTITIONS = 48;
const ORDERS = 100_000;
const BLOCKS = 10_000;
const SCALE_QUICK = 50;
const PROJECTED_MS_MAX = 1_800_000;
const SEED_MS_MAX = 600_000;
const PROJECTOR = 'projector';
const TOKEN = '0x00000000000000000000000000000000000000c0';

interface Parts {
  readonly log: Log;
  readonly postgres: Postgres;
  readonly services: Services;
  /** Bytes that the partitions of a topic take on the broker's disk. */
  readonly bytesOf: (topic: string) => number;
}

/**
 * One projector on a log of open orders, and on one of blocks: what both take on disk, how fast they are folded for the first
 * time, and how fast again on an empty database, where nothing is published.
 */
export async function benchRebuild(isQuick: boolean): Promise<void> {
  const scale = isQuick ? SCALE_QUICK : 1;
  await withParts(async (parts) => {
    printTable(`A log of open orders and one of blocks in ${PARTITIONS} partitions, folded by one projector.`, {
      orders: await measure(parts, ORDERS / scale, TAIL_BLOCKS + 1),
      blocks: await measure(parts, 1, BLOCKS / scale),
    });
  });
}

async function measure({ log, postgres, services, bytesOf }: Parts, orders: number, blocks: number): Promise<object> {
  const prefix = `bench-${randomBytes(4).toString('hex')}.`;
  const head = { number: 10_000_000, hash: `0x${'f'.repeat(64)}`, timestamp: 1_790_000_000 } as const;
  const holds = { log: true, rows: false };
  const empty = await sizeOf(postgres);
  await seedLog(log, postgres, { orders, blocks, holds, prefix, partitions: PARTITIONS, token: TOKEN, head });
  const topics = topicNames(prefix);
  const facts = Number((await log.endOffsets(topics.makerEvents)).reduce((sum, end) => sum + end, 0n));
  const first = await project(services, prefix, facts);
  const stored = (await sizeOf(postgres)) - empty;
  await deleteRows(postgres);
  const again = await project(services, prefix, facts);
  return {
    facts,
    'log, bytes per fact': round(bytesOf(topics.makerEvents) / facts),
    'Postgres, bytes per order': orders > 1 ? round(stored / orders) : '',
    'first time, facts per s': round(facts / first.seconds),
    'again, facts per s': round(facts / again.seconds),
    'again, µs of CPU per fact': round(again.cpu / facts, 1),
    'RSS, MB': round(again.rssMb),
  };
}

async function project(services: Services, prefix: string, facts: number) {
  const startedAt = performance.now();
  await services.start(PROJECTOR, 'projector', { TOPIC_PREFIX: prefix });
  await services.ready([PROJECTOR]);
  const { pid, opsUrl } = services.processOf(PROJECTOR);
  while (sumOfMetric(await readMetrics(opsUrl), 'projector_facts_total') < facts) {
    services.assertAlive();
    if (performance.now() - startedAt > PROJECTED_MS_MAX) throw new Error('the log is not projected in time');
    await pause(100);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const [cpu = 0] = readCpu([pid]);
  const { rssMb } = readMemory(pid);
  await services.end(PROJECTOR, 'SIGTERM');
  return { seconds, cpu, rssMb };
}

async function sizeOf(postgres: Postgres): Promise<number> {
  const [row] = await postgres.query<{ bytes: string }>('select pg_database_size(current_database())::text as bytes');
  return Number(row?.bytes);
}

async function withParts(work: (parts: Parts) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-bench-'));
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void close().finally(() => process.exit(1)));
  try {
    const at = async (name: string) => ({ dataDir: join(folder, name), port: await findFreePort() });
    const kafka = await startKafka(await at('kafka'));
    closing.push(() => kafka.stop());
    const database = await startPostgres(await at('postgres'));
    closing.push(() => database.stop());
    const redis = await startRedis(await at('redis'));
    closing.push(() => redis.stop());
    const log = connectLog({ brokers: [kafka.brokers], clientId: 'makerbook-bench', logger: silentLogger });
    closing.push(() => log.close());
    await migrate({ url: database.url });
    const postgres = connectPostgres({ url: database.url, statementTimeoutMs: SEED_MS_MAX });
    closing.push(() => postgres.close());
    const services = runServices(folder, {
      KAFKA_BROKERS: kafka.brokers,
      PARTITIONS: String(PARTITIONS),
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      LOG_LEVEL: 'warn',
    });
    closing.push(() => services.stop());
    const bytesOf = (topic: string) => bytesUnder(join(folder, 'kafka', 'log'), `${topic}-`);
    await work({ log, postgres, services, bytesOf });
  } finally {
    await close();
  }
}

function bytesUnder(folder: string, prefix: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.startsWith(prefix) && file.endsWith('.log'))
    .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}
