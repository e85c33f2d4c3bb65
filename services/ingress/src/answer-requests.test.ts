import { expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import type { ApiRequest } from '@makerbook/http';
import type { PlacementStore } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { Wallet } from 'ethers';
import { ingressSettings } from './env.js';
import type { Outside } from './parts.js';
import { createRoutes } from './run.js';
import { hashOf, signCancellation, signOrder } from './testing/sign-test-orders.js';
import { testDomain } from './testing/start-test-ingress.js';

const maker = new Wallet(`0x${'11'.repeat(32)}`);
const settings = readSettings(ingressSettings, {
  KAFKA_BROKERS: 'none:1',
  DATABASE_URL: 'postgres://none',
  SERVICE_NAME: testDomain.serviceName,
  CHAIN_ID: String(testDomain.chainId),
  LIMIT_ORDER_PROTOCOL_ADDRESS: testDomain.verifyingContract,
});

/** The routes on a store that answers as it is told to, and a log that counts. */
function openRoutes(store: Partial<PlacementStore>, { isCancelOnly = false } = {}) {
  const clock = { nowMs: Date.now() };
  const seen = { appended: 0, losses: 0 };
  const appender = {
    append: async (records: readonly unknown[]) => {
      seen.appended += records.length;
      return [{ partition: 0, offset: 1n }];
    },
  };
  const makers = {
    isCaughtUp: () => true,
    isCancelOnly: () => isCancelOnly,
    admissionOf: () => 'ADMITTED',
    limitsOf: () => ({}),
    nonceOf: () => 0n,
  };
  const outside: unknown = {
    settings,
    logger: silentLogger,
    log: { createAppender: () => appender },
    topics: { areVerified: () => true },
    makers,
    store: { forgetNotes: async () => undefined, ...store },
    rows: { lagSeconds: () => 0, appended: () => undefined },
    trust: { noteLoss: () => (seen.losses += 1) },
    now: () => clock.nowMs,
    pause: async () => undefined,
  };
  const routes = createRoutes(outside as Outside);
  const post = (path: string, body: unknown) => {
    const route = routes.find((each) => each.method === 'POST' && each.path === path);
    const request: unknown = {
      requestId: 'r',
      receivedAtMs: clock.nowMs,
      client: 'c',
      query: new URLSearchParams(),
      headers: {},
      body,
      describe: () => undefined,
    };
    return route?.handle(request as ApiRequest);
  };
  return { clock, seen, post };
}

test('orders that Postgres placed too late are released, and not appended', async () => {
  const released: [readonly Hex[], number][] = [];
  const service = openRoutes({
    place: async () => {
      service.clock.nowMs += settings.POSTGRES_TIMEOUT_MS + 1;
      return { kind: 'placed', untilMs: 77, remaining: [1] };
    },
    release: async (...release) => {
      released.push(release);
    },
  });
  const order = await signOrder(maker);
  expect(await service.post(paths.limitOrders, [order])).toMatchObject({ code: 'unavailable' });
  expect(released).toEqual([[[hashOf(order)], 77]]);
  expect(service.seen.appended).toBe(0);
});

test('orders that Postgres placed in time are appended', async () => {
  const service = openRoutes({ place: async () => ({ kind: 'placed', untilMs: 77, remaining: [1] }) });
  expect(await service.post(paths.limitOrders, [await signOrder(maker)])).toHaveProperty('body');
  expect(service.seen.appended).toBe(1);
});

test('a service that takes no new orders says when to ask again', async () => {
  const { post } = openRoutes({}, { isCancelOnly: true });
  expect(await post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({
    code: 'unavailable',
    measuredAs: 'cancel_only',
    headers: { 'Retry-After': '30' },
  });
});

test('a cancellation that Postgres cannot tell of notes that it may have lost rows', async () => {
  const { post, seen } = openRoutes({
    findOrders: async (orderHashes) => orderHashes.map(() => ({ state: 'UNSURE' })),
    markCancelling: async () => ({ kind: 'marked', untilMs: 77, remaining: [1] }),
  });
  const orderHash: Hex = `0x${'ab'.repeat(32)}`;
  const salt = '0x7';
  const body = [{ orderHash, salt, signature: signCancellation(maker, orderHash, salt, 'uint256') }];
  expect(await post(paths.cancellations, body)).toHaveProperty('body');
  expect(seen).toEqual({ appended: 1, losses: 1 });
});
