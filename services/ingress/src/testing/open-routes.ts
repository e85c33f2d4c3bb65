import type { Hex } from '@makerbook/contracts-primitives';
import type { ApiRequest, Reply } from '@makerbook/http';
import { type Appender, type LogRecord, LogUnavailable } from '@makerbook/kafka';
import { PostgresUnavailable } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import { ingressSettings } from '../env.js';
import type { Outside } from '../parts.js';
import { createRoutes } from '../run.js';
import { holdTestStore } from './hold-test-store.js';
import { hashOf, lower, newWallet, type SignedOrder, signCancellation, testDomain } from './sign-test-orders.js';

export const [maker, other, stranger, key] = [newWallet(), newWallet(), newWallet(), newWallet()];
/** The contract of a maker. `owner` signs for it. */
export const [contract, owner] = [`0x${'c0'.repeat(20)}`, newWallet()];
const environment = {
  KAFKA_BROKERS: 'none:1',
  DATABASE_URL: 'postgres://none',
  SERVICE_NAME: testDomain.serviceName,
  CHAIN_ID: String(testDomain.chainId),
  LIMIT_ORDER_PROTOCOL_ADDRESS: testDomain.verifyingContract,
  UNKNOWN_HASHES_PER_CLIENT_MAX: '3',
};
export const settings = readSettings(ingressSettings, environment);
/** The routes on a store that a test controls, and a log that counts. */
export function openRoutes(given: Given = {}) {
  const {
    lagSeconds = 0,
    own,
    isLogAway,
    mayHaveBeenAppended = true,
    acks,
    askWallets,
    askCode,
    storeAheadMs = 0,
    ...makers
  } = given;
  const records: LogRecord[] = [];
  const clock = { nowMs: Date.now() };
  const { held, store } = holdTestStore(() => clock.nowMs + storeAheadMs);
  const seen = { appended: 0, losses: 0, charged: 0 };
  const ends = new Map<number, bigint>();
  const appender: Pick<Appender, 'append'> = {
    append: async (appended) => {
      if (isLogAway === true) throw new LogUnavailable('away', { mayHaveBeenAppended });
      records.push(...appended);
      seen.appended += appended.length;
      return appended.map(({ partition }) => {
        const offset = ends.get(partition) ?? 0n;
        ends.set(partition, offset + 1n);
        return { partition, offset, timeMs: clock.nowMs + (given.brokerAheadMs ?? 0) };
      });
    },
  };
  const outside: unknown = {
    settings: readSettings(ingressSettings, { ...environment, ...own }),
    logger: silentLogger,
    log: { createAppender: () => appender },
    topics: { areVerified: () => true },
    makers: {
      isCaughtUp: () => true,
      isCancelOnly: () => false,
      admissionOf: (address: Hex) =>
        [lower(maker), lower(other), contract].includes(address) ? 'ADMITTED' : 'UNKNOWN',
      limitsOf: () => ({}),
      nonceOf: () => 0n,
      cancelKeysOf: (address: Hex) => (address === lower(maker) ? [lower(key)] : []),
      isCancelKey: (address: Hex) => address === lower(key),
      ...makers,
    },
    store,
    projection: {
      lagSeconds: () => lagSeconds,
      appended: () => undefined,
      havePassed: async () => (held.isAway ? Promise.reject(new PostgresUnavailable('away')) : given.isBehind !== true),
    },
    acks,
    askWallets,
    askCode,
    trust: { noteLoss: () => (seen.losses += 1) },
    now: () => clock.nowMs,
    monotonicMs: () => clock.nowMs,
    pause: async (ms: number) => {
      clock.nowMs += ms;
    },
  };
  const routes = createRoutes(outside as Outside);
  const send = async (method: string, path: string, body: unknown, headers = {}, query = ''): Promise<Reply> => {
    const route = routes.find((each) => each.method === method && each.path === path);
    const request: unknown = {
      requestId: 'r',
      receivedAtMs: clock.nowMs,
      client: 'c',
      charge: async (units: number) => {
        seen.charged += units;
      },
      query: new URLSearchParams(query),
      headers,
      body,
      describe: () => undefined,
    };
    if (route === undefined) throw new Error(`nobody answers ${path}`);
    return route.handle(request as ApiRequest);
  };
  const post = (path: string, body: unknown, headers = {}, query = '') => send('POST', path, body, headers, query);
  return { clock, seen, records, held, post, send };
}
export type Given = Partial<Makers> & {
  readonly askWallets?: Outside['askWallets'];
  readonly askCode?: Outside['askCode'];
  readonly lagSeconds?: number;
  /** Settings that differ from the common ones. */
  readonly own?: Record<string, string>;
  readonly isLogAway?: boolean;
  readonly mayHaveBeenAppended?: boolean;
  readonly acks?: Outside['acks'];
  readonly isBehind?: boolean;
  /** How far the clock of Postgres is ahead. */
  readonly storeAheadMs?: number;
  /** How far the clock of the brokers is ahead. */
  readonly brokerAheadMs?: number;
};

export const cancelling = (order: SignedOrder, signer = maker, salt = order.order.salt) => {
  return { orderHash: hashOf(order), signature: signCancellation(signer, hashOf(order), salt, 'uint256') };
};
export const foundOf = ({ order }: SignedOrder) => ({
  maker: order.maker as Hex,
  salt: order.salt as Hex,
  expiresAtSeconds: 9,
});
/** Makes the order open, with this amount left. */
export const openIn = ({ held }: Pick<ReturnType<typeof openRoutes>, 'held'>, order: SignedOrder, remaining = 100n) => {
  held.rows.set(hashOf(order), { open: foundOf(order), isAccepted: true });
  const amounts = { making: 100n, remaining, expiresAtSeconds: 9 };
  held.hashes.set(hashOf(order), { remembered: 'ACCEPTED', order: amounts });
};
