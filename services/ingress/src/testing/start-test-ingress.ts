import { randomBytes } from 'node:crypto';
import {
  decodeMakerEvent,
  encodeMakerEvent,
  encodeMakerView,
  type Hex,
  type MakerView,
  topicNames,
  topicSpecs,
} from '@makerbook/contracts-events';
import { orderFromBody, recordEnd, recordStart } from '@makerbook/domain';
import { connectLog, type Log, partitionOf, type StoredRecord } from '@makerbook/kafka';
import { testParts } from '@makerbook/local-stack';
import {
  type CancelledHashRow,
  connectPostgres,
  findKnownHashes,
  migrate,
  type Postgres,
  type ProjectionCommit,
  readProjection,
  saveProjection,
} from '@makerbook/postgres';
import { connectRedis, createPartitionRefresher, type OrderChange, type RedisConnection } from '@makerbook/redis';
import { silentLogger } from '@makerbook/telemetry';
import type { Wallet } from 'ethers';
import { readEnvironment } from '../env.js';
import { type Ingress, runIngress } from '../run.js';
import { openTestGate, type TestGate } from './open-test-gate.js';
import { signOrder } from './sign-test-orders.js';

export const testDomain = {
  serviceName: 'Test',
  chainId: 8217,
  verifyingContract: '0x00000000000000000000000000000000000000aa',
} as const;

/** The service with a log, a read model and a cache of its own, for live tests. */
export interface TestIngress {
  readonly url: string;
  readonly opsUrl: string;
  readonly log: Log;
  /** Gates that the service alone goes through: the test's own connections stay. */
  readonly gates: { readonly redis: TestGate; readonly postgres: TestGate };
  readonly redis: RedisConnection;
  readonly postgres: Postgres;
  readonly partitions: number;
  readonly makerEventsTopic: string;
  /** Writes the maker's record to `limit-orders.makers.v1` and waits until the service says what follows from it. */
  showMaker(wallet: Wallet, view?: Partial<MakerView>): Promise<void>;
  /** All facts of the log so far that are not blocks, with their partition. */
  readonly facts: { partition: number; record: StoredRecord }[];
  /** Lets Redis vouch for all that was written before `agoMs`: as if it had lost nothing since then. */
  ageRedis(agoMs: number): Promise<void>;
  /** Stops and starts the stand-in of the projector. */
  pauseProjection(): void;
  resumeProjection(): void;
  restart(environment?: Record<string, string>): Promise<TestIngress['urls']>;
  readonly urls: { url: string; opsUrl: string };
  stop(): Promise<void>;
}

const partitions = 4;
const tickMs = 200;
const SLOW_MS = 30_000;

/**
 * Starts the service on the run's Kafka, Postgres and Redis. A small stand-in for the projector keeps the read model and
 * the cache's positions, from the same log and by the same packages: what it folds is opened and cancelled orders alone,
 * the cancellation behind its order or before it.
 */
export async function startTestIngress(
  environment: Record<string, string> = {},
  kafkaBrokers: string = testParts().kafkaBrokers,
): Promise<TestIngress> {
  const parts = testParts();
  const tag = randomBytes(5).toString('hex');
  const names = topicNames(`ingress-${tag}.`);
  const brokers = kafkaBrokers;
  const databaseUrl = await parts.databaseUrl();
  await migrate({ url: databaseUrl, connectTimeoutMs: SLOW_MS });
  const postgres = connectPostgres({ url: databaseUrl, connectTimeoutMs: SLOW_MS, statementTimeoutMs: SLOW_MS });
  const redis = connectRedis({
    url: parts.redisUrl,
    keyPrefix: `i${tag}:`,
    logger: silentLogger,
    commandTimeoutMs: SLOW_MS,
    connectTimeoutMs: SLOW_MS,
  });
  await redis.waitUntilReady(60_000);
  const ageRedis = async (agoMs: number) => {
    const run = /run_id:(\w+)/.exec(await redis.client.info('server'))?.[1];
    await redis.client.set(redis.keys.since(), `${run}:${Date.now() - agoMs}`);
  };
  await ageRedis(3_600_000);
  const log = connectLog({ brokers: brokers.split(','), clientId: 'ingress-test', logger: silentLogger });
  await log.createTopics(topicSpecs(names, partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const appender = log.createAppender({ timeoutMs: SLOW_MS });

  const gates = { redis: await openTestGate(parts.redisUrl), postgres: await openTestGate(databaseUrl) };
  const base = {
    KAFKA_BROKERS: brokers,
    DATABASE_URL: gates.postgres.url,
    REDIS_URL: gates.redis.url,
    REDIS_KEY_PREFIX: `i${tag}:`,
    TOPIC_PREFIX: `ingress-${tag}.`,
    PARTITIONS: String(partitions),
    SERVICE_NAME: testDomain.serviceName,
    CHAIN_ID: String(testDomain.chainId),
    LIMIT_ORDER_PROTOCOL_ADDRESS: testDomain.verifyingContract,
    PORT: '0',
    OPS_PORT: '0',
    LOG_LEVEL: 'error',
    // What is slow on a busy machine would count as gone.
    REDIS_TIMEOUT_MS: String(SLOW_MS),
    PROJECTION_WAIT_MS: String(SLOW_MS),
    COLD_WAIT_MS: String(SLOW_MS),
    APPEND_TIMEOUT_MS: String(SLOW_MS),
  };
  const telemetry = { logger: silentLogger, serveMetrics: (_: unknown, response: { end(): void }) => response.end() };
  const start = (extra: Record<string, string>) =>
    runIngress(readEnvironment({ ...base, ...environment, ...extra }), { telemetry });
  let service: Ingress = await start({});
  const urls = { url: '', opsUrl: '' };
  const setUrls = () => {
    urls.url = `http://127.0.0.1:${service.port}/v0alpha/limit-orders`;
    urls.opsUrl = `http://127.0.0.1:${service.opsPort}`;
  };
  setUrls();
  await waitUntilReady(urls.opsUrl);

  const facts: TestIngress['facts'] = [];
  let gate: Promise<void> = Promise.resolve();
  let open: () => void = () => undefined;
  const refresher = createPartitionRefresher(redis);
  for (let partition = 0; partition < partitions; partition += 1) await readProjection(postgres, partition);
  const following = log.followTopic({
    topic: names.makerEvents,
    from: 'beginning',
    onRecords: async (partition, records) => {
      for (const record of records) {
        if (record.headers['ce_type'] !== 'makerbook.BlockProcessed.v1') facts.push({ partition, record });
      }
      await gate;
      await project(postgres, refresher, partition, records);
    },
  });

  let block = 1;
  const tick = setInterval(() => {
    block += 1;
    for (let partition = 0; partition < partitions; partition += 1) {
      const hash = `0x${block.toString(16).padStart(64, '0')}` as Hex;
      const fact = { type: 'BlockProcessed' as const, block: { number: block, hash, timestamp: block } };
      const message = encodeMakerEvent(fact, { id: `${block}:${partition}`, source: '/test', timeMs: 0 });
      appender.append([{ topic: names.makerEvents, partition, ...message, key: '' }]).catch(() => undefined);
    }
  }, tickMs);

  return {
    get url() {
      return urls.url;
    },
    get opsUrl() {
      return urls.opsUrl;
    },
    urls,
    gates,
    log,
    redis,
    postgres,
    partitions,
    makerEventsTopic: names.makerEvents,
    facts,
    async showMaker(wallet, view = {}) {
      const maker = wallet.address.toLowerCase() as Hex;
      const partition = partitionOf(maker, partitions);
      const full: MakerView = {
        type: 'MakerView',
        maker,
        admission: 'ADMITTED',
        nonce: null,
        position: { partition, offset: '0' },
        ...view,
      };
      const message = encodeMakerView(full, { id: randomBytes(8).toString('hex'), source: '/test', timeMs: 0 });
      await appender.append([{ topic: names.makers, partition, ...message, key: maker }]);
      // Refused either way, and for another reason once the maker is known.
      const expired = await signOrder(wallet, { expiresAt: '0x1' });
      const expected = full.admission === 'ADMITTED' ? 'order_expired' : 'maker_not_whitelisted';
      await until(`the service says ${expected}`, async () => {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(urls.url, { method: 'POST', headers, body: JSON.stringify([expired]) });
        return ((await answer.json()) as { code?: string }).code === expected;
      });
    },
    ageRedis,
    pauseProjection() {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    resumeProjection() {
      open();
      gate = Promise.resolve();
    },
    async restart(extra = {}) {
      await service.stop();
      service = await start(extra);
      setUrls();
      await waitUntilReady(urls.opsUrl);
      return urls;
    },
    async stop() {
      clearInterval(tick);
      open();
      await service.stop();
      await following.stop();
      await log.close();
      await redis.close();
      await postgres.close();
      await gates.redis.close();
      await gates.postgres.close();
    },
  };
}

function waitUntilReady(opsUrl: string): Promise<void> {
  return until('the service is ready', async () => (await fetch(`${opsUrl}/readyz`)).ok);
}

/** Waits for a condition; fails with what was waited for. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within 90 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function project(
  postgres: Postgres,
  refresher: ReturnType<typeof createPartitionRefresher>,
  partition: number,
  records: readonly StoredRecord[],
): Promise<void> {
  const { nextOffset: fromOffset } = await readProjection(postgres, partition);
  const opened = new Map<Hex, ProjectionCommit['opened'][number]>();
  const cancelled = new Map<Hex, CancelledHashRow>();
  const removed: Hex[] = [];
  const history: ProjectionCommit['history'][number][] = [];
  const changes: OrderChange[] = [];
  for (const { headers, value, offset } of records) {
    const fact = decodeMakerEvent({ headers: { ...headers }, value });
    if ('unreadable' in fact) throw new Error(fact.unreadable);
    if (fact.type === 'OrderSubmitted') {
      const order = orderFromBody(fact.order);
      const start = recordStart({ order, orderHash: fact.orderHash, signature: fact.signature });
      const amount = order.making.amount.toString();
      const common = { orderHash: fact.orderHash, maker: fact.maker, status: 'VALIDATING', reason: null };
      const expiresAtSeconds = Number(order.expiresAt);
      const accepted = { acceptedOffset: offset, acceptedAtMs: fact.acceptedAtMs, recordStart: start };
      const amounts = { makingToken: order.making.token, makingAmount: amount, remaining: amount };
      const terms = { ...amounts, observedBlock: null, inBook: true };
      const { orderHash, maker } = fact;
      history.push({ ...common, offset, happened: 'OPENED', remaining: amount, expiresAtSeconds });
      const before = await findKnownHashes(postgres, [{ maker, expiresAtSeconds, orderHash }]);
      if (before.cancelled.has(orderHash) || cancelled.has(orderHash)) continue;
      opened.set(orderHash, { ...common, ...accepted, ...terms, expiresAtSeconds });
      const record = start + recordEnd({ status: 'VALIDATING' });
      changes.push({
        kind: 'opened',
        maker,
        orderHash,
        salt: fact.order.salt,
        acceptedOffset: offset,
        expiresAtSeconds,
        record,
      });
    } else if (fact.type === 'OrderCancelled') {
      const { orderHash, maker, expiresAtSeconds } = fact;
      const before = await findKnownHashes(postgres, [{ maker, expiresAtSeconds, orderHash }]);
      if (!opened.delete(orderHash)) {
        if (before.accepted.has(orderHash)) removed.push(orderHash);
        else if (!before.cancelled.has(orderHash)) {
          cancelled.set(orderHash, { maker, orderHash, expiresAtSeconds, offset });
        }
      }
      changes.push({ kind: 'removed', maker, orderHash, expiresAtSeconds });
    }
  }
  const last = records.at(-1);
  if (last === undefined) return;
  const nextOffset = last.offset + 1n;
  const base = { blockNumber: undefined, clockSeconds: 0, pending: undefined, makers: [], funding: [] };
  await saveProjection(postgres, {
    ...base,
    partition,
    fromOffset,
    nextOffset,
    fundingDropped: [],
    opened: [...opened.values()],
    changed: [],
    removed,
    history,
    cancelledHashes: [...cancelled.values()],
  });
  await refresher
    .refreshPartition({ partition, prevPos: fromOffset, newPos: nextOffset, changes })
    .catch(() => undefined);
}
