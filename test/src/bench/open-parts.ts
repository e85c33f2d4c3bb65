import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectLog } from '@makerbook/kafka';
import { findFreePort, startKafka, startPostgres } from '@makerbook/parts';
import { connectPostgres, migrate } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import { type Environment, runServices } from '../kit/run-services.js';

/** As many as in production. */
export const PARTITIONS = 12;
const SEED_MS_MAX = 600_000;

/** A log and a migrated database of a bench's own, for single services. */
export type OwnParts = Awaited<ReturnType<typeof openOwnParts>>;

/** Starts the parts for the work, and ends all of it after. */
export async function withOwnParts<T>(work: (parts: OwnParts) => Promise<T>): Promise<T> {
  const closing: (() => unknown)[] = [];
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void close().finally(() => process.exit(1)));
  }
  try {
    return await work(await openOwnParts(closing));
  } finally {
    await close();
  }
}

/** @param closing takes what ends the parts: it is called in reverse order, also where the bench breaks off */
async function openOwnParts(closing: (() => unknown)[]) {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-bench-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const kafka = await startKafka({ dataDir: join(folder, 'kafka'), port: await findFreePort() });
  closing.push(() => kafka.stop());
  const log = connectLog({ brokers: [kafka.brokers], clientId: 'makerbook-bench', logger: silentLogger });
  closing.push(() => log.close());
  const database = await startPostgres({ dataDir: join(folder, 'postgres'), port: await findFreePort() });
  closing.push(() => database.stop());
  await migrate({ url: database.url });
  const postgres = connectPostgres({ url: database.url, statementTimeoutMs: SEED_MS_MAX });
  closing.push(() => postgres.close());
  /** Of a process that uses them. */
  const environment = { KAFKA_BROKERS: kafka.brokers, PARTITIONS: String(PARTITIONS), DATABASE_URL: database.url };
  return {
    log,
    postgres,
    databaseUrl: database.url,
    environment,
    closing,
    pids: [kafka.pid, database.pid],
    services(settings: Environment) {
      const started = runServices(folder, { ...environment, ...settings });
      closing.push(() => started.stop());
      return started;
    },
  };
}
