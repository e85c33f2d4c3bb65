import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectLog, type Log } from '@makerbook/kafka';
import { findFreePort, startKafka, startPostgres } from '@makerbook/parts';
import { connectPostgres, migrate, type Postgres } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import { runServices, type Services } from '../kit/run-services.js';

/** The same number as in production. */
export const PARTITIONS = 12;
const SEED_MS_MAX = 600_000;

/** A bench's own log and migrated database, for single services. */
export interface OwnParts {
  readonly log: Log;
  readonly postgres: Postgres;
  /** Holds all that the parts store, and the logs of services. */
  readonly folder: string;
  readonly databaseUrl: string;
  /** The parts' processes, keyed by name. */
  readonly pids: ReadonlyMap<string, number>;
  readonly environment: Readonly<Record<string, string>>;
  /** Runs services on these parts, with more settings. */
  readonly services: (settings: Readonly<Record<string, string>>) => Services;
  /** Called in reverse order at the end, even if the bench breaks off. */
  readonly closing: (() => unknown)[];
}

/** Starts the parts, does the work, and ends the parts. */
export async function withOwnParts<T>(work: (parts: OwnParts) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-bench-'));
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void close().finally(() => process.exit(1)));
  }
  try {
    const kafka = await startKafka({ dataDir: join(folder, 'kafka'), port: await findFreePort() });
    closing.push(() => kafka.stop());
    const log = connectLog({ brokers: [kafka.brokers], clientId: 'makerbook-bench', logger: silentLogger });
    closing.push(() => log.close());
    const database = await startPostgres({ dataDir: join(folder, 'postgres'), port: await findFreePort() });
    closing.push(() => database.stop());
    await migrate({ url: database.url });
    const postgres = connectPostgres({ url: database.url, statementTimeoutMs: SEED_MS_MAX });
    closing.push(() => postgres.close());
    const environment = {
      KAFKA_BROKERS: kafka.brokers,
      PARTITIONS: String(PARTITIONS),
      DATABASE_URL: database.url,
    };
    const services = (settings: Readonly<Record<string, string>>) => {
      const started = runServices(folder, { ...environment, ...settings });
      closing.push(() => started.stop());
      return started;
    };
    const pids = new Map(Object.entries({ Kafka: kafka.pid, Postgres: database.pid }));
    return await work({ log, postgres, databaseUrl: database.url, environment, folder, pids, services, closing });
  } finally {
    await close();
  }
}
