import type { AskWallets } from '@makerbook/chain';
import { type TopicNames, topicNames } from '@makerbook/contracts-events';
import { hexToBytes } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import type { After, ApiRequest, Reply } from '@makerbook/http';
import { createRoutes, followProjection, ingressSettings as ingressSpec, keepTrust } from '@makerbook/ingress';
import type { StoredRecord } from '@makerbook/kafka';
import type { LogInMemory } from '@makerbook/kafka/testing';
import { type Calm, type Life, Requests, type Send, type VirtualTime } from '@makerbook/parts';
import { createTestProjector, type Projector } from '@makerbook/projector/testing';
import { createMakerRoutes, openStreams, querySettings as querySpec } from '@makerbook/query';
import type { RedisInMemory } from '@makerbook/query/testing';
import { readSettings } from '@makerbook/settings';
import { addressOfKey, recoverSigner } from '@makerbook/signatures';
import { silentLogger } from '@makerbook/telemetry';
import { followMakers } from '@makerbook/whitelist';
import { GRACE_SECONDS, PROTOCOL, refusesSignatures, WALLET_KEY } from './chain/act-on-chain.js';
import { type Chain, valueAt } from './chain/keep-chain.js';
import { consumePartition, type Holder } from './consume-partition.js';
import type { StoreInMemory } from './hold-store.js';
import type { Plan } from './plan-run.js';

export const TOPICS: TopicNames = topicNames();
export const CHAIN_ID = 8217;
export const SERVICE_NAME = 'Simulated';
/** The clocks of processes differ by at most this much. */
const CLOCK_SKEW_MS_MAX = 5_000;
/** A planted defect: processes do not see that time passes while they decide. */
export const Clocks = { stand: false };
const REDIS_PREFIX = 'mb:';
const REDIS_MS_MAX = 1_500;
const LOG_MS_MAX = 1_500;

/** Everything outside of the processes. */
export interface World {
  readonly time: VirtualTime;
  readonly plan: Plan;
  readonly chain: Chain;
  readonly log: LogInMemory;
  readonly redis: RedisInMemory;
  readonly store: StoreInMemory;
  readonly calm: Calm;
  /** Whether Redis is down. */
  readonly cache: { isAway: boolean };
  readonly parked: Set<string>;
  readonly onTaken: ((projector: Projector, partition: number) => void) | undefined;
  readonly note: (line: () => string) => void;
  /** Called when a process ends by itself. */
  readonly onFatal: (error: Error) => void;
}

/** Answers a request to a process. */
export type Handle = (method: string, request: ApiRequest) => Promise<Reply>;

/** How one process sees the outside. */
export function connect(life: Life, draw: number, world: World) {
  const { time, calm, plan, cache, log, redis } = world;
  const requests = new Requests(draw, life, time, calm, plan.hasFaults);
  const within =
    (timeoutMs: number, isAway: () => boolean): Send =>
    (what, serve, failure) =>
      requests.send(what, serve, failure, { timeoutMs, isAway: isAway() });
  return {
    requests,
    log: log.connect(within(LOG_MS_MAX, () => false)),
    redis: redis.connect(
      REDIS_PREFIX,
      within(REDIS_MS_MAX, () => cache.isAway),
    ),
  };
}

const common = {
  KAFKA_BROKERS: 'in-memory:1',
  DATABASE_URL: 'postgres://in@memory/it',
  REDIS_URL: 'redis://in-memory',
  SERVICE_NAME,
  CHAIN_ID: String(CHAIN_ID),
  LIMIT_ORDER_PROTOCOL_ADDRESS: PROTOCOL,
};
/** The timeouts are short: otherwise most of a run is over before Postgres is trusted again. */
const ingressSettings = readSettings(ingressSpec, { ...common, POSTGRES_TIMEOUT_MS: '500', APPEND_TIMEOUT_MS: '1500' });
const querySettings = readSettings(querySpec, common);
/** Work that was called off does nothing. */
function afterOf(life: Life): After {
  return (ms, work) => {
    let isOff = false;
    life.after(ms, () => isOff || work());
    return () => {
      isOff = true;
    };
  };
}

/** The owner of the only wallet contract. */
const WALLET_OWNER = addressOfKey(WALLET_KEY);

/** The wallet accepts what its owner has signed, unless it refuses all. No other maker is a contract. */
function askIn({ chain }: World): AskWallets {
  const isOwners = (digest: Hex, signature: Hex) =>
    recoverSigner(hexToBytes(digest), signature).signer === WALLET_OWNER;
  return async (questions) => {
    const at = questions.findIndex(
      ({ wallet, digests, signature }) =>
        valueAt(chain.head, refusesSignatures(wallet)) !== 0n || !digests.some((each) => isOwners(each, signature)),
    );
    return at < 0 ? 'accepted' : { at, fault: 'the contract refuses it' };
  };
}

export function runIngress(life: Life, draw: number, world: World): Handle {
  const { plan, store: postgres, onFatal } = world;
  const { log, requests } = connect(life, draw, world);
  const settings = {
    ...ingressSettings,
    PARTITIONS: plan.partitions,
    MAX_OPEN_ORDERS_PER_MAKER: plan.openOrdersMax,
    ...(plan.budget && { ORDER_BUDGET_PER_SECOND: plan.budget.ratePerSecond, ORDER_BUDGET_BURST: plan.budget.burst }),
  };
  const skewMs = plan.budget === undefined ? 0 : (draw % (CLOCK_SKEW_MS_MAX + 1)) - CLOCK_SKEW_MS_MAX / 2;
  const clock = {
    now: () => life.nowMs() + skewMs,
    monotonicMs: () => (Clocks.stand ? 0 : life.nowMs()),
    pause: (ms: number) => life.delay(ms),
  };
  const outside = {
    settings,
    logger: silentLogger,
    log,
    topics: { areVerified: () => true },
    store: postgres.openPlacements(requests.sender, settings.POSTGRES_TIMEOUT_MS, clock.now),
    // A run is too short for a lag that matters.
    projection: {
      ...followProjection(postgres.openReadModel(requests.sender).readPartitionClocks, {
        ...clock,
        monotonicMs: () => life.nowMs(),
      }),
      appended: () => undefined,
    },
    ...clock,
    askWallets: askIn(world),
  };
  const trust = keepTrust(outside);
  const makers = followMakers(log, TOPICS.makers, silentLogger, onFatal);
  const routes = createRoutes({ ...outside, trust, makers });
  return (method, request) => {
    // Cancel with the hashes in the body, where each may have its salt.
    const path =
      {
        DELETE: paths.cancellations,
        SALTS: paths.cancellations,
        REPLACE: paths.replacements,
        ALL: paths.cancelAll,
        BEAT: paths.heartbeat,
        CAP: paths.fillCap,
        KEYS: paths.cancelKeys,
      }[method] ?? paths.limitOrders;
    const route = routes.find((each) => each.method === 'POST' && each.path === path);
    if (route === undefined) throw new Error(`there is no ${method}`);
    return route.handle(request);
  };
}

export function runQuery(life: Life, draw: number, world: World): Handle {
  const { plan, store, onFatal } = world;
  const { log, redis, requests } = connect(life, draw, world);
  const settings = { ...querySettings, PARTITIONS: plan.partitions, ROUTING_GRACE_SECONDS: GRACE_SECONDS };
  const rows = store.openReadModel(requests.sender);
  const routes = createMakerRoutes(settings, {
    log,
    redis,
    rows,
    streams: openStreams(settings, { log, rows, after: afterOf(life), onError: (error) => onFatal(error as Error) }),
    makers: followMakers(log, TOPICS.makers, silentLogger, onFatal),
    askWallets: askIn(world),
    unixMs: () => life.nowMs(),
    after: afterOf(life),
  });
  return (kind, request) => {
    const path =
      { ACCOUNT: paths.account, HISTORY: paths.history, ORDER: paths.limitOrder, STREAM: paths.stream }[kind] ??
      paths.limitOrders;
    const route = routes.find((each) => each.path === path);
    if (route === undefined) throw new Error(`there is no ${path}`);
    return route.handle(request);
  };
}

/** @returns a holder for each partition */
export function runProjector(life: Life, draw: number, world: World): readonly Holder[] {
  const { plan, store, parked, onTaken, onFatal, note } = world;
  const { log, requests } = connect(life, draw, world);
  const projector: Projector = createTestProjector({
    store: store.connect(requests.sender),
    log,
    createFencedPublisher: log.createFencedPublisher,
    topics: TOPICS,
    partitions: plan.partitions,
    routingGraceSeconds: GRACE_SECONDS,
    ...plan.projector,
    meters: {
      taken: () => {
        for (const partition of projector.owned.keys()) onTaken?.(projector, partition);
      },
    },
    wait: (ms, signal) => (signal === undefined ? life.delay(ms) : life.wait(ms, signal)),
  });
  const onParked = ({ partition, offset, headers }: StoredRecord) => {
    const maker = headers['parked-maker'];
    parked.add(maker === undefined ? `${partition} ${offset}` : `${partition} ${offset} ${maker}`);
  };
  return Array.from({ length: plan.partitions }, (_, partition) => {
    const holder: Holder = { life, isStale: false, isStopping: false };
    const parts = { partition, topic: TOPICS.makerEvents, log: world.log, requests, onParked, note };
    void consumePartition(holder, projector, parts).catch(onFatal);
    return holder;
  });
}
