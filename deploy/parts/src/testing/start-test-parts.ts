import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from '../find-free-ports.js';
import { type Part, PartError } from '../spawn-part.js';
import { startKafka } from '../start-kafka.js';
import { startPostgres } from '../start-postgres.js';
import { startRedis } from '../start-redis.js';
import { speedUpStarts } from './speed-up-starts.js';
import { stopRunningTestParts } from './stop-test-parts.js';
import { TEST_PARTS_VARIABLE, type TestAddresses } from './test-parts.js';

/**
 * Jest's global set-up for live tests: one Kafka, Postgres and Redis for the run, on free ports, in a temporary folder.
 * Their addresses reach the test files through the environment, see `testParts()`.
 */
export default async function startTestParts(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-test-'));
  // Root runs Postgres as another user, who needs to enter this folder.
  chmodSync(folder, 0o711);
  const started: Part[] = [];
  globalThis.makerbookTestParts = { folder, started };
  const keep = <P extends Part>(part: P): P => {
    started.push(part);
    return part;
  };
  const onProgress = (line: string) => console.error(line);
  const [kafkaPort = 0, postgresPort = 0, redisPort = 0] = await findFreePorts(3);
  const starts = await Promise.allSettled([
    speedUpStarts(folder, onProgress)
      .then(() => startKafka({ dataDir: join(folder, 'kafka'), port: kafkaPort }))
      .then(keep),
    // What it writes does not outlive the run, nor the machine.
    startPostgres({ dataDir: join(folder, 'postgres'), port: postgresPort, settings: { fsync: 'off' } }).then(keep),
    startRedis({ dataDir: join(folder, 'redis'), port: redisPort, onProgress }).then(keep),
  ]);
  const failed = starts.find((start) => start.status === 'rejected');
  const [kafka, postgres, redis] = starts;
  if (failed || kafka.status !== 'fulfilled' || postgres.status !== 'fulfilled' || redis.status !== 'fulfilled') {
    await stopRunningTestParts();
    const reason: unknown = failed?.reason;
    throw reason instanceof PartError ? new Error(`${reason.message}\n${reason.logTail}`) : reason;
  }
  const addresses: TestAddresses = {
    kafkaBrokers: kafka.value.brokers,
    postgresUrl: postgres.value.url,
    redisUrl: redis.value.url,
  };
  process.env[TEST_PARTS_VARIABLE] = JSON.stringify(addresses);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}
