import { randomBytes } from 'node:crypto';
import { encodeMakerEvent, encodeMakerView, type Hex, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { createOrderHasher, getLimitOrdersRequestTypes, typedDataDomain } from '@makerbook/contracts-evm';
import { type Order, type OrderStatus, orderToBody, recordEnd, recordStart, zeroAddress } from '@makerbook/domain';
import { connectLog, partitionOf } from '@makerbook/kafka';
import { testParts } from '@makerbook/local-stack';
import { connectPostgres, migrate, type ProjectionCommit, readProjection, saveProjection } from '@makerbook/postgres';
import { connectRedis, createPartitionRefresher, type OrderChange } from '@makerbook/redis';
import { silentLogger } from '@makerbook/telemetry';
import { type HDNodeWallet, Wallet } from 'ethers';
import { readEnvironment } from '../env.js';
import { type Query, runQuery } from '../run.js';
import { type Cut, cutConnections } from './cut-connections.js';

export const domain = {
  serviceName: 'Test',
  chainId: 8217,
  verifyingContract: `0x${'12'.repeat(20)}`,
} as const;
const partitions = 2;
const expiresAt = 4_000_000_000n;
const SLOW_MS = 30_000;

/** An order that the log holds. */
export interface Placed {
  readonly maker: Hex;
  readonly orderHash: Hex;
  readonly order: Order;
  readonly offset: bigint;
}

/** The parts around one query service, with the projector played by hand. */
export type Stand = Awaited<ReturnType<typeof raiseStand>>;

/** Starts a query service over real parts; Redis and Postgres can be cut off from it. */
export async function raiseStand(environment: Record<string, string> = {}) {
  const parts = testParts();
  const id = randomBytes(5).toString('hex');
  const names = topicNames(`query-${id}.`);
  const log = connectLog({ brokers: parts.kafkaBrokers.split(','), clientId: 'test', logger: silentLogger });
  await log.createTopics(topicSpecs(names, partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const databaseUrl = await parts.databaseUrl();
  await migrate({ url: databaseUrl, connectTimeoutMs: SLOW_MS });
  const postgres = connectPostgres({ url: databaseUrl, connectTimeoutMs: SLOW_MS, statementTimeoutMs: SLOW_MS });
  const redis = connectRedis({
    url: parts.redisUrl,
    keyPrefix: `q${id}:`,
    logger: silentLogger,
    commandTimeoutMs: SLOW_MS,
    connectTimeoutMs: SLOW_MS,
  });
  await redis.waitUntilReady(SLOW_MS);
  const refresher = createPartitionRefresher(redis);
  const appender = log.createAppender({ lingerMs: 0, timeoutMs: SLOW_MS });
  const [redisCut, postgresCut] = await Promise.all([cutConnections(parts.redisUrl), cutConnections(databaseUrl)]);
  for (let partition = 0; partition < partitions; partition += 1) await readProjection(postgres, partition);

  const settings = readEnvironment({
    PORT: '0',
    OPS_PORT: '0',
    KAFKA_BROKERS: parts.kafkaBrokers,
    PARTITIONS: String(partitions),
    TOPIC_PREFIX: `query-${id}.`,
    DATABASE_URL: postgresCut.url,
    REDIS_URL: redisCut.url,
    REDIS_KEY_PREFIX: `q${id}:`,
    SERVICE_NAME: domain.serviceName,
    CHAIN_ID: String(domain.chainId),
    LIMIT_ORDER_PROTOCOL_ADDRESS: domain.verifyingContract,
    ...environment,
  });
  const telemetry = {
    logger: silentLogger,
    serveMetrics: (_: unknown, response: { end: () => void }) => response.end(),
  };
  const query: Query = await runQuery(settings, { telemetry });
  const hasher = createOrderHasher(domain);
  /** What the read model is to learn of, oldest first. */
  let unprojected: { change: OrderChange; commit: Partial<ProjectionCommit> }[] = [];

  async function admit(maker: Hex, admission: 'ADMITTED' | 'SUSPENDED' = 'ADMITTED'): Promise<void> {
    const position = { partition: partitionOf(maker, partitions), offset: '0' };
    const message = encodeMakerView(
      { type: 'MakerView', maker, admission, nonce: null, position },
      { id: '1', source: '/test', timeMs: 0 },
    );
    await appender.append([{ topic: names.makers, partition: position.partition, ...message, key: maker }]);
  }

  async function place(
    wallet: HDNodeWallet,
    { count = 1, state = { status: 'VALIDATING' } as OrderStatus, expires = expiresAt } = {},
  ): Promise<Placed[]> {
    const maker = wallet.address.toLowerCase() as Hex;
    const partition = partitionOf(maker, partitions);
    const placements = Array.from({ length: count }, () => {
      const order: Order = {
        salt: BigInt(`0x${randomBytes(32).toString('hex')}`),
        nonce: 0n,
        expiresAt: expires,
        making: { token: `0x${'aa'.repeat(20)}`, amount: 10n ** 18n },
        taking: { token: `0x${'bb'.repeat(20)}`, amount: 2n * 10n ** 18n },
        maker,
        permittedTaker: zeroAddress,
      };
      const orderHash: Hex = `0x${Buffer.from(hasher.hashOrder(order)).toString('hex')}`;
      return { maker, order, orderHash, signature: `0x${'5a'.repeat(65)}` as Hex };
    });
    const records = placements.map(({ order, orderHash, signature }, index) => ({
      topic: names.makerEvents,
      partition,
      ...encodeMakerEvent(
        {
          type: 'OrderSubmitted',
          maker,
          orderHash,
          order: orderToBody(order),
          signature,
          acceptedAtMs: 1,
          cause: { kind: 'request', requestId: 'r' },
        },
        { id: `r:${index}`, source: '/test', timeMs: 1 },
      ),
      key: maker,
    }));
    const appended = await appender.append(records);
    return placements.map(({ order, orderHash, signature }, index) => {
      const offset = appended[index]?.offset ?? -1n;
      const start = recordStart({ order, orderHash, signature });
      const expiresAtSeconds = Number(order.expiresAt);
      const row = { orderHash, maker, remaining: String(order.making.amount), reason: null, inBook: true };
      unprojected.push({
        change: {
          kind: 'opened',
          maker,
          orderHash,
          salt: `0x${order.salt.toString(16)}`,
          acceptedOffset: offset,
          expiresAtSeconds,
          record: start + recordEnd(state),
        },
        commit: {
          opened: [
            {
              ...row,
              ...state,
              acceptedOffset: offset,
              acceptedAtMs: 1,
              expiresAtSeconds,
              makingToken: order.making.token,
              makingAmount: String(order.making.amount),
              observedBlock: state.status === 'VALIDATING' ? null : 1,
              recordStart: start,
            },
          ],
        },
      });
      return { maker, order, orderHash, offset };
    });
  }

  async function cancel({ maker, orderHash, order }: Placed): Promise<void> {
    const partition = partitionOf(maker, partitions);
    const cause = { kind: 'request' as const, requestId: 'c' };
    const event = encodeMakerEvent(
      { type: 'OrderCancelled', maker, orderHash, expiresAtSeconds: 4_000_000_000, cause },
      { id: 'c:0', source: '/test', timeMs: 1 },
    );
    await appender.append([{ topic: names.makerEvents, partition, ...event, key: maker }]);
    unprojected.push({
      change: { kind: 'removed', maker, orderHash, expiresAtSeconds: Number(order.expiresAt) },
      commit: { removed: [orderHash] },
    });
  }

  /** Folds what was placed and cancelled into Postgres, then Redis, as the projector does. */
  async function project({ refresh = true } = {}): Promise<void> {
    const ends = await log.endOffsets(names.makerEvents, { timeoutMs: SLOW_MS });
    const pending = unprojected;
    unprojected = [];
    for (const [partition, newPos] of ends.entries()) {
      const { nextOffset: prevPos } = await readProjection(postgres, partition);
      const here = pending.filter(({ change }) => partitionOf(change.maker, partitions) === partition);
      const makers = new Set(here.map(({ change }) => change.maker));
      await saveProjection(postgres, {
        partition,
        fromOffset: prevPos,
        nextOffset: newPos,
        blockNumber: undefined,
        clockSeconds: 0,
        pending: undefined,
        makers: [...makers].map((maker) => ({
          maker,
          admission: 'ADMITTED',
          nonce: null,
          nonceBlock: null,
          nonceIsWatched: false,
          dueAtSeconds: null,
        })),
        funding: [],
        fundingDropped: [],
        opened: here.flatMap(({ commit }) => commit.opened ?? []),
        changed: [],
        removed: here.flatMap(({ commit }) => commit.removed ?? []),
        history: [],
      });
      if (refresh) {
        const changes = here.map(({ change }) => change);
        await refresher.refreshPartition({ partition, prevPos, newPos, changes });
      }
    }
  }

  /** Everything in Redis is gone at once. */
  async function flush(): Promise<void> {
    const keys = await redis.client.keys(`${redis.keys.prefix}*`);
    if (keys.length > 0) await redis.client.del(...keys);
  }

  const cuts: { redis: Cut; postgres: Cut } = { redis: redisCut, postgres: postgresCut };
  return {
    baseUrl: `http://127.0.0.1:${query.port}`,
    opsUrl: `http://127.0.0.1:${query.opsPort}`,
    admit,
    place,
    cancel,
    project,
    flush,
    redis,
    cuts,
    stop: async () => {
      await query.stop();
      await Promise.all([redis.close(), postgres.close(), appender.close()]);
      await log.close();
      await Promise.all([redisCut.stop(), postgresCut.stop()]);
    },
  };
}

/** A maker that nobody knows yet. */
export const newWallet = (): HDNodeWallet => Wallet.createRandom();

/** The query string of a GET, signed by ethers. */
export async function signList(
  wallet: Pick<HDNodeWallet, 'signTypedData'>,
  overrides: { issuedAt?: number | bigint; salt?: Hex } = {},
): Promise<URLSearchParams> {
  const issuedAt = overrides.issuedAt ?? Math.floor(Date.now() / 1000);
  const salt = overrides.salt ?? `0x${randomBytes(32).toString('hex')}`;
  const padded = `0x${salt.slice(2).padStart(64, '0')}`;
  const signature = await wallet.signTypedData(
    { ...typedDataDomain(domain), salt: padded },
    getLimitOrdersRequestTypes,
    {
      issuedAt,
    },
  );
  return new URLSearchParams({ issuedAt: String(issuedAt), salt, signature });
}
