import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type MakerEvent, type TopicNames, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { type Appender, connectLog, type Log, type LogRecord } from '@makerbook/kafka';
import { findFreePorts, replaceMethod, startKafka, startPostgres } from '@makerbook/parts';
import { connectPostgres, migrate, type Postgres, projectedPositions } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry } from '@makerbook/telemetry';
import { RowCommitter } from '../commit/commit-rows.js';
import { projectorSettings } from '../env.js';
import { runProjector } from '../run.js';
import { blockAt, makersOf, startSeconds, storedRecord, submittedOf } from './generate-facts.js';

/**
 * Measures what it costs when many orders expire at once, with its own real parts and the projector as its own process:
 * `node measure-expiry.js --orders 50000 --makers 50 --partitions 1`. All orders expire in the same second. One block takes
 * them out of the router's feed, a second one removes them. Settings of the projector are taken from the environment.
 */
const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '50000' },
    makers: { type: 'string', default: '50' },
    partitions: { type: 'string', default: '1' },
  },
});

const expiresAt = startSeconds + 10_000;

/** The figures of the projector's process since they were last reset. */
interface Figures {
  readonly commits: number;
  readonly longestCommitMs: number;
  readonly memoryBeforeMb: number;
  readonly memoryPeakMb: number;
  readonly cpuMs: number;
}

await (process.send === undefined ? measure() : project());

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-expiry-'));
  chmodSync(folder, 0o711);
  const [kafkaPort = 0, postgresPort = 0] = await findFreePorts(2);
  const kafka = await startKafka({ dataDir: join(folder, 'kafka'), port: kafkaPort });
  const database = await startPostgres({ dataDir: join(folder, 'postgres'), port: postgresPort });
  const log = connectLog({ brokers: [kafka.brokers], clientId: 'measure', logger: silentLogger });
  const postgres = connectPostgres({ url: database.url, poolMax: 1 });
  const partitions = Number(values.partitions);
  const topics = topicNames();
  const environment = {
    KAFKA_BROKERS: kafka.brokers,
    PARTITIONS: String(partitions),
    DATABASE_URL: database.url,
    OPS_PORT: '0',
    LOG_LEVEL: 'warn',
  };
  let projector: ChildProcess | undefined;
  try {
    await migrate({ url: database.url });
    await log.createTopics(topicSpecs(topics, partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
    const appender = log.createAppender({ timeoutMs: 60_000 });
    await submitOrders(appender, topics, partitions);
    const catchUpAt = performance.now();
    projector = await startProjector(environment);
    await projected(log, topics, postgres);
    report('caught up', catchUpAt, await ask(projector, 'report'));
    // The measurement begins after a restart, with nothing in memory.
    await stopProjector(projector);
    projector = await startProjector(environment);

    // The first takes all orders out of the book, the second one removes them, which no reader of the book sees.
    for (const [number, timestamp] of [expiresAt - 60, expiresAt].entries()) {
      const tombstones = countTombstones(log, topics.book, await log.endOffsets(topics.book));
      await tombstones.caughtUp;
      await ask(projector, 'begin');
      const startedAt = performance.now();
      for (let partition = 0; partition < partitions; partition += 1) {
        await appender.append([recordOf(blockAt(number, timestamp), topics, partition)]);
      }
      if (number === 0) {
        await tombstones.counted(Number(values.orders));
        console.log(`last tombstone: ${Math.round(performance.now() - startedAt)} ms`);
      }
      await projected(log, topics, postgres);
      report(number === 0 ? 'out of the book' : 'removed', startedAt, await ask(projector, 'report'));
      await tombstones.stop();
    }
  } finally {
    if (projector !== undefined) await stopProjector(projector);
    await log.close();
    await postgres.close();
    await Promise.all([kafka.stop(), database.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All rows are committed by now. */
function report(what: string, startedAt: number, figures: Figures): void {
  const tookMs = Math.round(performance.now() - startedAt);
  console.log(`${what}: ${JSON.stringify({ orders: Number(values.orders), tookMs, ...figures })}`);
}

async function submitOrders(appender: Appender, topics: TopicNames, partitions: number): Promise<void> {
  const makers = Math.ceil(Number(values.makers) / partitions);
  const ordersOfMaker = Math.ceil(Number(values.orders) / (makers * partitions));
  for (let partition = 0; partition < partitions; partition += 1) {
    for (const maker of makersOf(partition, partitions, makers)) {
      const records = Array.from({ length: ordersOfMaker }, (_, number) => {
        return recordOf(submittedOf(maker, number, expiresAt), topics, partition);
      });
      for (let at = 0; at < records.length; at += 100) await appender.append(records.slice(at, at + 100));
    }
  }
}

function recordOf(fact: MakerEvent, topics: TopicNames, partition: number): LogRecord {
  const { key, value, headers } = storedRecord(fact, { partition, offset: 0n }, startSeconds * 1000);
  return { topic: topics.makerEvents, partition, key, value, headers };
}

/** Waits until Postgres is at the end of the log in every partition. */
async function projected(log: Log, topics: TopicNames, postgres: Postgres): Promise<void> {
  for (;;) {
    const ends = await log.endOffsets(topics.makerEvents);
    const positions = await projectedPositions(postgres).catch(() => new Map<number, bigint>());
    if (ends.every((end, partition) => (positions.get(partition) ?? 0n) >= end)) return;
    await pause(50);
  }
}

function countTombstones(log: Log, topic: string, from: readonly bigint[]) {
  const seen = new Set<string>();
  const following = log.followTopic({
    topic,
    from,
    onRecords: (_partition, records) => {
      for (const { key, value } of records) if (value === null) seen.add(key);
    },
  });
  return {
    caughtUp: following.caughtUp,
    stop: following.stop,
    counted: async (count: number) => {
      while (seen.size < count) await pause(5);
    },
  };
}

async function startProjector(environment: Record<string, string>): Promise<ChildProcess> {
  const child = fork(fileURLToPath(import.meta.url), { env: { ...process.env, ...environment } });
  await once(child, 'message');
  return child;
}

async function stopProjector(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

async function ask(child: ChildProcess, what: 'begin' | 'report'): Promise<Figures> {
  child.send(what);
  const [figures] = await once(child, 'message');
  return figures;
}

/** The projector as it runs in production, with a watch on its commits and its memory. */
async function project(): Promise<void> {
  let commits = 0;
  let longestCommitMs = 0;
  let memoryBeforeMb = 0;
  let cpuBefore: NodeJS.CpuUsage | undefined;
  const settings = readSettings(projectorSettings, process.env);
  const telemetry = startTelemetry('projector', settings);
  replaceMethod(
    RowCommitter.prototype,
    'begin',
    (begin) =>
      function (this: RowCommitter) {
        const before = this.underWay;
        begin.call(this);
        const startedAtMs = performance.now();
        if (this.underWay === before) return;
        void this.underWay?.then(() => {
          commits += 1;
          longestCommitMs = Math.max(longestCommitMs, performance.now() - startedAtMs);
        });
      },
  );
  const running = await runProjector(settings, telemetry);
  process.on('SIGTERM', () => void running.stop().then(() => process.exit(0)));
  process.on('message', (what) => {
    if (what === 'begin') {
      commits = 0;
      longestCommitMs = 0;
      cpuBefore = process.cpuUsage();
      writeFileSync('/proc/self/clear_refs', '5');
      memoryBeforeMb = memoryMb('VmRSS');
    }
    const cpu = process.cpuUsage(cpuBefore);
    const figures: Figures = {
      commits,
      longestCommitMs: Math.round(longestCommitMs),
      memoryBeforeMb,
      memoryPeakMb: memoryMb('VmHWM'),
      cpuMs: Math.round((cpu.user + cpu.system) / 1000),
    };
    process.send?.(figures);
  });
  process.send?.('running');
}

function memoryMb(name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  const kilobytes = Number(new RegExp(`^${name}:\\s+([0-9]+) kB`, 'm').exec(status)?.[1]);
  return Math.round((kilobytes * 1024) / 1e6);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
