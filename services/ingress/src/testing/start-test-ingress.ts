import { randomBytes } from 'node:crypto';
import { encodeMakersRecord, type MakerView, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { checkTraffic } from '@makerbook/contracts-http/testing';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Appender, connectLog, partitionOf } from '@makerbook/kafka';
import { openTcpGate, testParts, until } from '@makerbook/parts';
import { connectPostgres, migrate } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import type { Wallet } from 'ethers';
import { ingressSettings } from '../env.js';
import { runIngress } from '../run.js';
import { signOrder } from './sign-test-orders.js';

export const testDomain = {
  serviceName: 'Test',
  chainId: 8217,
  verifyingContract: '0x00000000000000000000000000000000000000aa',
} as const;

/** The service with a log and a read model of its own, for live tests. */
export type TestIngress = Awaited<ReturnType<typeof startTestIngress>>;

const partitions = 4;
const SLOW_MS = 30_000;

const fixedSettings = {
  PARTITIONS: String(partitions),
  SERVICE_NAME: testDomain.serviceName,
  CHAIN_ID: String(testDomain.chainId),
  LIMIT_ORDER_PROTOCOL_ADDRESS: testDomain.verifyingContract,
  PORT: '0',
  OPS_PORT: '0',
  LOG_LEVEL: 'error',
  // A slow part of a busy machine would count as away.
  POSTGRES_TIMEOUT_MS: String(SLOW_MS),
  PLACE_WAIT_MS: String(SLOW_MS),
  APPEND_TIMEOUT_MS: String(SLOW_MS),
  CANCEL_WAIT_SECONDS_MAX: '20',
};

/** Starts the service on the run's Kafka and Postgres. Nobody folds the log: its orders stay in flight. */
export async function startTestIngress(environment: Record<string, string> = {}) {
  const parts = await openParts();
  const { names, appender } = parts;
  const telemetry = { logger: silentLogger, serveMetrics: (_: unknown, response: { end(): void }) => response.end() };
  const service = await runIngress(readSettings(ingressSettings, { ...parts.environment, ...environment }), telemetry);
  const url = `http://127.0.0.1:${service.port}/v0alpha/limit-orders`;
  const opsUrl = `http://127.0.0.1:${service.opsPort}`;
  const endTraffic = checkTraffic(({ port }) => port === String(service.port));
  const log = followLog(parts);
  await until('the service is ready', () => isReady(opsUrl));
  return {
    url,
    opsUrl,
    /** A gate that the service alone goes through: the test's own connections stay. */
    gates: parts.gates,
    /**
     * Writes the maker's record to `limit-orders.makers.v1` and waits until the service acts on it.
     * @param wallet signs for the maker, which is itself unless the view says otherwise
     */
    showMaker: (wallet: Wallet, view?: Partial<MakerView>) =>
      showMaker({ appender, topic: names.makers, url }, wallet, view),
    async stop() {
      await service.stop();
      await log.stop();
      await parts.close();
      endTraffic();
    },
  };
}

/** Reads the log, and lets the rows say that they are as far as it is. */
function followLog({ log, postgres, names }: Awaited<ReturnType<typeof openParts>>) {
  return log.followTopic({
    topic: names.makerEvents,
    from: 'beginning',
    onRecords: async (partition, records) => {
      await postgres.query(
        `insert into projections (partition, next_offset) values ($1, $2)
         on conflict (partition) do update set next_offset = excluded.next_offset`,
        [partition, (records.at(-1)?.offset ?? -1n) + 1n],
      );
    },
    onFatal: (error) => console.error(error),
  });
}

/** Topics and a database of their own, the test's connections to them, and the settings of the service. */
async function openParts() {
  const { databaseUrl: createDatabase, kafkaBrokers } = testParts();
  const tag = randomBytes(5).toString('hex');
  const names = topicNames(`ingress-${tag}.`);
  const databaseUrl = await createDatabase();
  await migrate({ url: databaseUrl, connectTimeoutMs: SLOW_MS });
  const postgres = connectPostgres({ url: databaseUrl, connectTimeoutMs: SLOW_MS, statementTimeoutMs: SLOW_MS });
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'ingress-test', logger: silentLogger });
  await log.createTopics(topicSpecs(names, partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const gates = { postgres: await openTcpGate(databaseUrl) };
  const environment = {
    ...fixedSettings,
    KAFKA_BROKERS: kafkaBrokers,
    DATABASE_URL: gates.postgres.url,
    TOPIC_PREFIX: `ingress-${tag}.`,
  };
  const close = async () => {
    for (const part of [log, postgres, gates.postgres]) await part.close();
  };
  const appender = log.createAppender({ timeoutMs: SLOW_MS });
  return { names, log, appender, postgres, gates, environment, close };
}

async function showMaker(
  { appender, topic, url }: { readonly appender: Appender; readonly topic: string; readonly url: string },
  wallet: Wallet,
  view: Partial<MakerView> = {},
): Promise<void> {
  const { maker = wallet.address.toLowerCase() as Hex } = view;
  const partition = partitionOf(maker, partitions);
  const full: MakerView = {
    type: 'MakerView',
    maker,
    admission: 'ADMITTED',
    nonce: null,
    position: { partition, offset: '0' },
    ...view,
  };
  const message = encodeMakersRecord(full, { id: randomBytes(8).toString('hex'), source: '/test', timeMs: 0 });
  await appender.append([{ topic, partition, ...message, key: maker }]);
  // Refused either way, and for another reason once the maker is known.
  const expired = await signOrder(wallet, { expiresAt: '0x1', maker });
  await until('the service knows the maker', async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify([expired]) });
    return ((await answer.json()) as { code?: string }).code === 'order_expired';
  });
}

/** True once it has read the whitelist, and places orders. */
async function isReady(opsUrl: string): Promise<boolean> {
  const ready = await fetch(`${opsUrl}/readyz`);
  const { checks } = (await ready.json()) as { checks: Record<string, string> };
  return ready.ok && checks['postgres'] === 'ok';
}
