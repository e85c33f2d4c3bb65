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

/** No other broker can take over: the controller must not fence the only one when the machine stalls for seconds. */
const LONG_SESSION = { 'broker.session.timeout.ms': '120000' };

/**
 * Jest's global set-up for live tests. It starts one Kafka, Postgres and Redis for the run, on free ports, in a
 * temporary folder. Test files get their addresses from the environment, see `testParts()`. A part whose address is
 * already in the environment is not started.
 */
export default async function startTestParts(): Promise<void> {
  const given = JSON.parse(process.env[TEST_PARTS_VARIABLE] ?? '{}') as Partial<TestAddresses>;
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
  const startOwn = {
    kafkaBrokers: async () => {
      await speedUpStarts(folder, onProgress);
      const dataDir = join(folder, 'kafka');
      return keep(await startKafka({ dataDir, port: kafkaPort, properties: LONG_SESSION })).brokers;
    },
    // Do without fsync: the data need not survive the run, nor a crash of the machine.
    postgresUrl: async () =>
      keep(await startPostgres({ dataDir: join(folder, 'postgres'), port: postgresPort, settings: { fsync: 'off' } }))
        .url,
    redisUrl: async () => keep(await startRedis({ dataDir: join(folder, 'redis'), port: redisPort, onProgress })).url,
  };
  const starts = await Promise.allSettled([
    given.kafkaBrokers ?? startOwn.kafkaBrokers(),
    given.postgresUrl ?? startOwn.postgresUrl(),
    given.redisUrl ?? startOwn.redisUrl(),
  ]);
  const failed = starts.find((start) => start.status === 'rejected');
  if (failed !== undefined) {
    await stopRunningTestParts();
    const reason: unknown = failed.reason;
    throw reason instanceof PartError ? new Error(`${reason.message}\n${reason.logTail}`) : reason;
  }
  const [kafkaBrokers = '', postgresUrl = '', redisUrl = ''] = starts.map((start) =>
    start.status === 'fulfilled' ? start.value : '',
  );
  process.env[TEST_PARTS_VARIABLE] = JSON.stringify({ kafkaBrokers, postgresUrl, redisUrl } satisfies TestAddresses);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}
