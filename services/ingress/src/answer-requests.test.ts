import { beforeEach, describe, expect, test } from '@jest/globals';
import { receiptTypes, typedDataDomain } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, type Refusal, type Reply } from '@makerbook/http';
import { type Appender, LogUnavailable, partitionOf } from '@makerbook/kafka';
import {
  type MarkUnplacedOutcome,
  type MarkUnplacedRequest,
  type OrderAmounts,
  type PlacementStore,
  type PlaceOutcome,
  PostgresUnavailable,
} from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import { recoverAddress, verifyTypedData } from 'ethers';
import { ingressSettings } from './env.js';
import { REQUEST_AGE_MS_MAX } from './note-unknown.js';
import type { Outside } from './parts.js';
import { createRoutes } from './run.js';
import {
  hashExit,
  hashOf,
  lower,
  newWallet,
  type SignedOrder,
  signCancellation,
  signExit,
  signOrder,
  testDomain,
  tokenA,
} from './testing/sign-test-orders.js';
import { serviceKey, serviceSigner } from './testing/sign-test-quotes.js';

const [maker, other, stranger, key] = [newWallet(), newWallet(), newWallet(), newWallet()];
/** The contract of a maker, as which `owner` signs. */
const [contract, owner] = [`0x${'c0'.repeat(20)}`, newWallet()];
const environment = {
  KAFKA_BROKERS: 'none:1',
  DATABASE_URL: 'postgres://none',
  SERVICE_NAME: testDomain.serviceName,
  CHAIN_ID: String(testDomain.chainId),
  LIMIT_ORDER_PROTOCOL_ADDRESS: testDomain.verifyingContract,
  UNKNOWN_HASHES_PER_CLIENT_MAX: '3',
};
const settings = readSettings(ingressSettings, environment);
const placed = { kind: 'placed', untilMs: 77, remaining: [1] } as const;
const marked = { kind: 'marked', untilMs: 77, remaining: [1] } as const;
const away = async () => {
  throw new PostgresUnavailable('away');
};
const noPostgres = {
  place: away,
  findOrders: away,
  markCancelling: away,
  markUnplaced: away,
  markAll: away,
  instruct: away,
};
const taken = { kind: 'taken', untilMs: 77, isKnown: true, remaining: [1] } as const;

/** The routes on a store that answers as it is told to, and a log that counts. */
function openRoutes(store: Partial<PlacementStore> = {}, given: Given = {}) {
  const {
    lagSeconds = 0,
    own,
    isLogAway,
    mayHaveBeenAppended = true,
    acks,
    isBehind: _,
    askWallets,
    askCode,
    ...makers
  } = given;
  const records: { readonly value: unknown }[] = [];
  const clock = { nowMs: Date.now() };
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
        return { partition, offset };
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
      ...makers,
    },
    store: { forgetNotes: async () => undefined, instruct: async () => taken, ...store },
    rows: { lagSeconds: () => lagSeconds, appended: () => undefined, havePassed: async () => given.isBehind !== true },
    acks,
    askWallets,
    askCode,
    trust: { noteLoss: () => (seen.losses += 1) },
    now: () => clock.nowMs,
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
  return { clock, seen, records, post, send };
}
type Given = Partial<Makers> & {
  readonly askWallets?: Outside['askWallets'];
  readonly askCode?: Outside['askCode'];
  readonly lagSeconds?: number;
  /** Settings of its own. */
  readonly own?: Record<string, string>;
  readonly isLogAway?: boolean;
  readonly mayHaveBeenAppended?: boolean;
  readonly acks?: Outside['acks'];
  readonly isBehind?: boolean;
};

const cancelling = (order: SignedOrder, signer = maker, salt = order.order.salt) => {
  return { orderHash: hashOf(order), signature: signCancellation(signer, hashOf(order), salt, 'uint256') };
};
const foundOf = ({ order }: SignedOrder) =>
  ({
    state: 'FOUND',
    maker: order.maker as Hex,
    salt: order.salt as Hex,
    expiresAtSeconds: 9,
    isInFlight: false,
  }) as const;

describe('orders', () => {
  test('that Postgres placed too late are released, and not appended', async () => {
    const released: [readonly Hex[], number][] = [];
    const service = openRoutes({
      place: async () => {
        service.clock.nowMs += settings.POSTGRES_TIMEOUT_MS + 1;
        return placed;
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

  test('that were received too long ago are not placed: a DELETE may have been told that they are unknown', async () => {
    const isCaughtUp = () => {
      service.clock.nowMs += REQUEST_AGE_MS_MAX + 1;
      return true;
    };
    const service = openRoutes({ place: async () => placed }, { isCaughtUp });
    expect(await service.post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'unavailable' });
    expect(service.seen.appended).toBe(0);
  });

  test('that Postgres placed in time are appended, while the read model is behind by no more than is allowed', async () => {
    const lagSeconds = settings.PROJECTION_LAG_SECONDS_MAX;
    const timely = openRoutes({ place: async () => placed }, { lagSeconds });
    expect(await timely.post(paths.limitOrders, [await signOrder(maker)])).toHaveProperty('body');
    expect(timely.seen.appended).toBe(1);
    const late = openRoutes({ place: async () => placed }, { lagSeconds: lagSeconds + 1 });
    expect(await late.post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'unavailable' });
    expect(late.seen.appended).toBe(0);
  });

  test('that another request places are waited for, and Valid-Until is judged again then', async () => {
    const { post, clock } = openRoutes({ place: async () => ({ kind: 'in_flight', index: 0 }), findOrders: away });
    const orders = [await signOrder(maker)];
    expect(await post(paths.limitOrders, orders)).toMatchObject({
      code: 'unavailable',
      index: 0,
      headers: { 'Retry-After': '2' },
    });
    const headers = { 'valid-until-ms': String(clock.nowMs + 50) };
    expect(await post(paths.limitOrders, orders, headers)).toMatchObject({ code: 'valid_until_passed' });
  });

  test.each([
    ['are open', { isInFlight: false }, 'duplicate'],
    ['were accepted before', { state: 'GONE' }, 'duplicate'],
    ['are still on their way', { isInFlight: true }, 'valid_until_passed'],
    ['are unknown', { state: 'UNSURE' }, 'valid_until_passed'],
    ['cannot be looked up', undefined, 'valid_until_passed'],
  ] as const)('that %s, after Valid-Until, are told so', async (_what, found, code) => {
    const late = await signOrder(maker);
    const { post, clock, seen } = openRoutes({
      place: async () => placed,
      findOrders: async (hashes, _nowMs, mayNote) => {
        if (found === undefined || mayNote) return away();
        return hashes.map((hash) => (hash === hashOf(late) ? { ...foundOf(late), ...found } : { state: 'UNSURE' }));
      },
    });
    const headers = { 'valid-until-ms': String(clock.nowMs - 1) };
    const reply = await post(paths.limitOrders, [await signOrder(maker), late], headers);
    const detail = code === 'duplicate' ? /accepted before/ : /^this request stored nothing: .* an earlier one did$/;
    const index = code === 'duplicate' ? { index: 1 } : {};
    expect(reply).toMatchObject({ code, detail: expect.stringMatching(detail), ...index });
    const replacement = { cancel: [cancelling(late)], place: [late] };
    expect(await post(paths.replacements, replacement, headers)).toMatchObject({ code });
    expect(seen.appended).toBe(0);
  });

  test('of several makers are acknowledged with the place of the last one in each partition', async () => {
    let [first, second] = [newWallet(), newWallet()];
    const partition = (of: typeof first) => partitionOf(lower(of), settings.PARTITIONS);
    while (partition(first) === partition(second)) [first, second] = [second, newWallet()];
    const { post } = openRoutes({ place: async () => placed }, { admissionOf: () => 'ADMITTED' });
    const orders = await Promise.all([first, second, first, first].map((one) => signOrder(one)));
    const { headers } = (await post(paths.limitOrders, orders)) as { headers?: Record<string, string> };
    expect(headers?.['X-Log-Position']).toBe(`${partition(first)}:2, ${partition(second)}:0`);
  });

  test('that anybody can repeat are charged to the address that sends them, and the others to their maker', async () => {
    const asked: number[] = [];
    let outcome: PlaceOutcome = { kind: 'charged', known: 2, remaining: [1] };
    const { post, seen } = openRoutes({
      place: async ({ orders, chargeOnly }) => {
        asked.push(orders.length);
        return chargeOnly || outcome.kind !== 'charged' ? outcome : placed;
      },
    });
    const late = () => signOrder(maker, { expiresAt: '0x1' });
    const orders = await Promise.all([late(), signOrder(maker), signOrder(maker), signOrder(maker), late()]);
    const codeOf = async (...items: unknown[]) => {
      const reply = await post(paths.limitOrders, items);
      return isRefusal(reply) ? `${reply.code} ${reply.index}` : 'none';
    };
    // Nothing is asked of the maker.
    expect(await codeOf(await late())).toBe('order_expired 0');
    expect([asked, seen.charged]).toEqual([[], 1]);
    // Two of the three that are timely are known.
    expect(await codeOf(...orders)).toBe('order_expired 0');
    expect([asked, seen.charged]).toEqual([[3], 5]);
    outcome = { kind: 'rate_limited', index: 2, retryAfterMs: 10, remaining: [0] };
    expect(await codeOf(...orders)).toBe('rate_limited 3');
    outcome = { kind: 'duplicate', index: 1, known: 2, remaining: [1] };
    expect(await codeOf(...orders.slice(1, 4))).toBe('duplicate 1');
    expect(seen.charged).toBe(9);
    const passed = openRoutes({ place: async () => placed }, { nonceOf: () => 1n });
    expect(await passed.post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'order_cancelled' });
    expect(passed.seen.charged).toBe(1);
  });

  test.each([
    ['for too many hashes, with the ways out', 'too_many_remembered', 'too_many_orders', /shorter expiries.*nonce/],
    ['for more open orders than the maker may have', 'too_many_open', 'too_many_orders', /may have 2 open orders/],
    ['for more orders than its budget holds', 'over_budget', 'too_many_orders', /holds 20 orders when full/],
    ['as they were told unknown meanwhile', 'told_unknown', 'order_cancelled', /post it again/],
  ] as const)('are refused %s, and the headers show the limits of their maker', async (_what, kind, code, detail) => {
    const limitsOf = () => ({ openOrdersMax: 2, ordersPerSecond: 10, ordersBurst: 20 });
    const outcome: PlaceOutcome = { kind, index: 0, count: 2, remaining: [1] };
    const { post } = openRoutes({ place: async () => outcome }, { limitsOf });
    expect(await post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({
      code,
      index: 0,
      detail: expect.stringMatching(detail),
      headers: { 'RateLimit-Policy': expect.stringContaining('q=20; w=2') },
    });
  });

  test('are refused for the lowest phase first, then for the lowest index', async () => {
    const { post } = openRoutes({
      place: async ({ chargeOnly, firstRepeatAt }) =>
        chargeOnly
          ? { kind: 'charged', known: 0, remaining: [1] }
          : { kind: 'duplicate', index: firstRepeatAt ?? 0, known: 1, remaining: [1] },
    });
    const again = await signOrder(maker);
    const late = await signOrder(maker, { expiresAt: '0x1' });
    const unsigned = { ...(await signOrder(maker)), signature: `0x${'11'.repeat(64)}1b` };
    const taker = await signOrder(maker, { permittedTaker: maker.address });
    const foreign = await signOrder(stranger);
    const byKey = { ...again, signature: (await signOrder(key, again.order)).signature };
    const codeOf = async (...orders: unknown[]) => {
      const reply = await post(paths.limitOrders, orders);
      return isRefusal(reply) ? `${reply.code} ${reply.index}` : 'none';
    };
    expect(await codeOf(again, late, foreign, unsigned, taker, { order: 1 })).toBe('invalid_request 5');
    expect(await codeOf(again, late, foreign, unsigned, taker)).toBe('unsupported_permitted_taker 4');
    expect(await codeOf(again, late, foreign, unsigned)).toBe('maker_not_whitelisted 2');
    expect(await codeOf(again, late, unsigned, byKey)).toBe('invalid_signature 2');
    expect(await codeOf(again, late, byKey)).toBe('invalid_signature 2');
    expect(await codeOf(again, late)).toBe('order_expired 1');
    expect(await codeOf(again, again)).toBe('duplicate 1');
    expect(await codeOf(again)).toBe('duplicate 0');
  });
});

describe('cancellations', () => {
  const salted = (order: SignedOrder, signer = maker) => ({ ...cancelling(order, signer), salt: order.order.salt });
  const statuses = (reply: Reply) =>
    isRefusal(reply) ? reply.code : JSON.parse(String(reply.body)).map(({ status }: { status: string }) => status);

  test('are answered for each hash: an unknown one does not fail the rest, a repeated one is appended once', async () => {
    const [own, ofOther, never] = [await signOrder(maker), await signOrder(other), await signOrder(maker)];
    const known = new Map([own, ofOther].map((order) => [hashOf(order), foundOf(order)]));
    const { post, seen } = openRoutes({
      findOrders: async (orderHashes) => orderHashes.map((orderHash) => known.get(orderHash) ?? { state: 'UNKNOWN' }),
      markCancelling: async () => ({ ...marked, remaining: [1, 1] }),
    });
    const items = [cancelling(never), cancelling(own, key), cancelling(own), cancelling(ofOther, other)];
    expect(statuses(await post(paths.cancellations, items))).toEqual([
      'NOT_FOUND',
      'CANCELLED',
      'CANCELLED',
      'CANCELLED',
    ]);
    expect(seen.appended).toBe(2);
    // A key cancels for its own maker alone.
    expect(statuses(await post(paths.cancellations, [cancelling(ofOther, key)]))).toBe('invalid_signature');
  });

  test.each([
    ['wait=2; by=router', [], false, 'wait=2; by=router', undefined],
    // The rows are not asked.
    ['wait=2; by=router', [], true, 'wait=2; by=router', undefined],
    ['wait=2; by=router', ['swift', 'slow'], false, 'wait=2', 'swift, slow'],
    ['wait=2; by=router', ['slow'], true, undefined, 'slow'],
    ['wait=2', ['slow'], false, 'wait=2', undefined],
    ['wait=0; by=router', ['slow'], false, undefined, undefined],
    ['wait=2; by=router', undefined, false, 'wait=2', undefined],
  ])('with %s and %j behind say what was waited for', async (prefer, unseen, isBehind, applied, unseenBy) => {
    const acks = unseen && ({ awaitSeen: async () => unseen, ageSeconds: () => new Map() } as unknown);
    const given = { acks: acks as NonNullable<Outside['acks']>, isBehind };
    const { post } = openRoutes(noPostgres, given);
    const reply = await post(paths.cancellations, [salted(await signOrder(maker))], { prefer });
    const { headers = {} } = reply as { headers?: Record<string, string> };
    expect([headers['Preference-Applied'], headers['X-Unseen-By']]).toEqual([applied, unseenBy]);
  });

  test('of orders that Postgres cannot tell of need their salt: of the item, before that of the query', async () => {
    const { post, seen } = openRoutes({
      findOrders: async (orderHashes) => orderHashes.map(() => ({ state: 'UNSURE' })),
      markUnplaced: async () => ({ kind: 'marked', untilMs: 77, remaining: 1 }),
    });
    const [own, shared] = [await signOrder(maker), await signOrder(maker)];
    const items = [salted(own), cancelling(shared, maker, '0xabc')];
    expect(statuses(await post(paths.cancellations, items, {}, 'salt=0xabc'))).toEqual(['CANCELLED', 'CANCELLED']);
    // Postgres may have lost rows.
    expect(seen).toMatchObject({ appended: 2, losses: 1 });
  });

  test('go on with their salts while Postgres is away, and a signature by a stranger cancels nothing', async () => {
    const { post, seen } = openRoutes(noPostgres);
    const [order, second] = [await signOrder(maker), await signOrder(maker)];
    expect(statuses(await post(paths.cancellations, [salted(order)]))).toEqual(['CANCELLED']);
    expect(await post(paths.cancellations, [salted(order), cancelling(second)])).toMatchObject({
      code: 'unavailable',
      detail: expect.stringMatching(/the 1 other orders were cancelled\. With the order's salt/),
    });
    expect(statuses(await post(paths.cancellations, [salted(order, stranger)]))).toBe('invalid_signature');
    expect(seen.appended).toBe(2);
    expect(statuses(await post(paths.limitOrders, [order]))).toBe('unavailable');
  });

  test('of unknown hashes beyond the bound are not answered, and known orders do not suffer', async () => {
    const known = await signOrder(maker);
    const { post } = openRoutes({
      findOrders: async (orderHashes, _nowMs, mayNote) =>
        orderHashes.map((orderHash) => {
          if (orderHash === hashOf(known)) return foundOf(known);
          return { state: mayNote ? 'UNKNOWN' : 'UNSURE' };
        }),
      markCancelling: async () => marked,
      markUnplaced: async () => ({ kind: 'marked', untilMs: 78, remaining: 1 }),
    });
    const unknown = async () => cancelling(await signOrder(maker));
    const ask = async (...items: unknown[]) => statuses(await post(paths.cancellations, items));
    expect(await ask(await unknown(), await unknown())).toEqual(['NOT_FOUND', 'NOT_FOUND']);
    expect(await ask(await unknown(), await unknown())).toBe('unavailable');
    expect(await ask(await unknown())).toEqual(['NOT_FOUND']);
    expect(await ask(await unknown())).toBe('unavailable');
    expect(await ask(cancelling(known))).toEqual(['CANCELLED']);
    expect(await ask(salted(await signOrder(maker)))).toEqual(['CANCELLED']);
  });
});

describe('cancellations of hashes that nobody has placed', () => {
  const salted = async (more: object = {}, signer = maker) => {
    const order = await signOrder(signer);
    return { ...cancelling(order, signer), salt: order.order.salt, ...more };
  };
  const codeOf = (reply: Reply) => (isRefusal(reply) ? `${reply.code} ${reply.headers?.['Retry-After']}` : 'cancelled');

  /** Nothing is known of any hash but this one. */
  function open(outcome: MarkUnplacedOutcome | undefined, known?: SignedOrder, own: Record<string, string> = {}) {
    const asked: MarkUnplacedRequest[] = [];
    const released: (readonly Hex[])[] = [];
    const service = openRoutes(
      {
        findOrders: async (hashes) =>
          hashes.map((hash) => (known && hash === hashOf(known) ? foundOf(known) : { state: 'UNSURE' })),
        markCancelling: async () => ({ kind: 'rate_limited', makerIndex: 0, retryAfterMs: 9_000, remaining: [0] }),
        markUnplaced: async (request) => {
          asked.push(request);
          return outcome ?? away();
        },
        release: async (hashes) => void released.push(hashes),
      },
      { own, limitsOf: (address) => (address === lower(other) ? { ordersPerSecond: 7, ordersBurst: 7 } : {}) },
    );
    return {
      ...service,
      asked,
      released,
      cancel: async (...items: unknown[]) => service.post(paths.cancellations, items),
    };
  }
  const isMarked = { kind: 'marked', untilMs: 78, remaining: 5 } as const;

  test('are charged like orders of their makers, and kept until the expiry that the request names, else for good', async () => {
    const { cancel, post, asked, records } = open(isMarked);
    const facts = () => records.map(({ value }) => JSON.parse(String(value)));
    const items = [await salted({ expiresAt: '0x0123' }), await salted({}, other), await salted({ expiresAt: '0x1' })];
    expect(codeOf(await cancel(...items, items[0]))).toBe('cancelled');
    const rememberedMax = settings.REMEMBERED_HASHES_PER_MAKER_MAX;
    expect(asked).toMatchObject([
      { maker: lower(maker), budget: { ratePerSecond: 100, burst: 1000 }, rememberedMax },
      { maker: lower(other), budget: { ratePerSecond: 7, burst: 7 }, rememberedMax },
    ]);
    expect(asked.map(({ orderHashes }) => orderHashes.length)).toEqual([2, 1]);
    const forGood = Number.MAX_SAFE_INTEGER;
    expect(facts()).toMatchObject([0x123, forGood, 1].map((expiresAtSeconds) => ({ expiresAtSeconds })));
    // That of the query is for the items without one.
    const body = [
      await salted(),
      await salted({ expiresAt: '0x5' }),
      await salted({ expiresAt: `0x${'f'.repeat(64)}` }),
    ];
    expect(codeOf(await post(paths.cancellations, body, {}, 'expiresAt=0x4'))).toBe('cancelled');
    expect(facts().slice(3)).toMatchObject([4, 5, forGood].map((expiresAtSeconds) => ({ expiresAtSeconds })));
  });

  test.each([
    [{ kind: 'rate_limited', retryAfterMs: 3_000, remaining: 0 }, 'rate_limited 3'],
    [{ kind: 'over_budget', remaining: 5 }, 'too_many_orders undefined'],
    [{ kind: 'too_many_remembered', count: 7, remaining: 5 }, 'too_many_orders undefined'],
  ] as const)('are refused where Postgres says %j, and nothing is cancelled', async (outcome, expected) => {
    const known = await signOrder(maker);
    const { cancel, seen } = open(outcome, known);
    expect(codeOf(await cancel(await salted(), cancelling(known)))).toBe(expected);
    expect(seen.appended).toBe(0);
  });

  test('leave no marks where the budget of cancellations does not hold the others', async () => {
    const known = await signOrder(maker);
    const { cancel, seen, released } = open(isMarked, known);
    const unknown = await salted();
    expect(codeOf(await cancel(unknown, cancelling(known)))).toBe('rate_limited 9');
    expect([seen.appended, released]).toEqual([0, [[unknown.orderHash]]]);
  });

  test('while Postgres is away are bounded by what this process has taken', async () => {
    const { cancel, seen, clock } = open(undefined, undefined, {
      ORDER_BUDGET_BURST: '2',
      ORDER_BUDGET_PER_SECOND: '1',
    });
    expect(codeOf(await cancel(await salted(), await salted(), await salted()))).toBe('too_many_orders undefined');
    expect(codeOf(await cancel(await salted(), await salted()))).toBe('cancelled');
    expect(codeOf(await cancel(await salted()))).toBe('rate_limited 1');
    expect(codeOf(await cancel(await salted({}, other)))).toBe('cancelled');
    clock.nowMs += 1_000;
    expect(codeOf(await cancel(await salted()))).toBe('cancelled');
    expect(seen.appended).toBe(4);
    const many = open(undefined, undefined, { REMEMBERED_HASHES_PER_MAKER_MAX: '1000', MAX_CANCELS_PER_DELETE: '500' });
    for (const count of [500, 500]) {
      const items = await Promise.all(Array.from({ length: count }, () => salted()));
      expect(codeOf(await many.cancel(...items))).toBe('cancelled');
    }
    many.clock.nowMs += 3_600_000;
    expect(codeOf(await many.cancel(await salted()))).toBe('too_many_orders undefined');
    expect(many.seen.appended).toBe(1000);
  });
});

describe('a replacement', () => {
  /** Of two orders, each with what is left of it. */
  async function open(amounts: readonly (OrderAmounts | undefined)[] | undefined, isInFlight = false) {
    const [first, second] = [await signOrder(maker), await signOrder(maker)];
    const known = new Map([first, second].map((order) => [hashOf(order), { ...foundOf(order), isInFlight }]));
    const released: number[] = [];
    const service = openRoutes({
      findOrders: async (hashes) => hashes.map((hash) => known.get(hash) ?? { state: 'UNKNOWN' }),
      markCancelling: async () => marked,
      readAmounts: async () => amounts ?? away(),
      place: async () => placed,
      release: async (_hashes, untilMs) => void released.push(untilMs),
    });
    const replace = async (...left: (string | undefined)[]) => {
      const cancel = [first, second].map((order, at) => ({ ...cancelling(order), remainingMakingAmount: left[at] }));
      return service.post(paths.replacements, { cancel, place: [await signOrder(maker)] });
    };
    return { replace, released, seen: service.seen };
  }
  const all = { making: 100n, remaining: 100n };
  const part = { making: 100n, remaining: 40n };

  test.each([
    ['whose order nobody has filled', [all, all], [], false, 'stored'],
    ['that names what is left', [all, part], ['0x64', '0x028'], false, 'stored'],
    ['whose orders the fold has not seen', [undefined, undefined], ['0x5', undefined], true, 'stored'],
    ['that does not know of a fill', [all, part], [], false, 'remaining_changed 1 0x28'],
    ['that names more than is left', [all, part], [undefined, '0x29'], false, 'remaining_changed 1 0x28'],
    ['that names less than is left', [part, all], ['0x27'], false, 'remaining_changed 0 0x28'],
    ['that believes in a fill', [all, all], [undefined, '0x63'], false, 'remaining_changed 1 0x64'],
    ['whose order has ended meanwhile', [all, undefined], [], false, 'not_found 1 undefined'],
    ['while Postgres is away', undefined, [], false, 'unavailable undefined undefined'],
  ] as const)('%s happens, or not at all', async (_what, amounts, left, isInFlight, expected) => {
    const { replace, released, seen } = await open(amounts, isInFlight);
    const reply = await replace(...left);
    const { code, index, remainingMakingAmount } = reply as Refusal;
    expect(isRefusal(reply) ? `${code} ${index} ${remainingMakingAmount}` : 'stored').toBe(expected);
    expect([seen.appended, released]).toEqual(expected === 'stored' ? [3, []] : [0, [marked.untilMs]]);
  });
});

describe('what a maker says of all its orders', () => {
  test('is charged once, a cancellation of all like a hundred', async () => {
    const counts: number[] = [];
    const { post, seen } = openRoutes({
      markAll: async ({ count }) => {
        counts.push(count);
        return { ...marked, orderHashes: [] };
      },
      instruct: async ({ count }) => {
        counts.push(count);
        return taken;
      },
    });
    const all = await signExit('cancelAll', maker, { untilMs: Date.now() });
    expect(await post(paths.cancelAll, all)).toHaveProperty('body');
    expect(await post(paths.cancelAll, all)).toHaveProperty('body');
    const beat = await signExit('heartbeat', maker, { cancelAt: 0 });
    expect(await post(paths.heartbeat, beat)).toHaveProperty('body');
    expect(await post(paths.heartbeat, beat)).toHaveProperty('body');
    expect(counts).toEqual([100, 1, 0]);
    expect(seen.appended).toBe(2);
  });

  test('is refused where the budget is spent, or a time has passed, the keys are too many, or a window is too long', async () => {
    const { post } = openRoutes({
      markAll: async () => ({
        kind: 'rate_limited',
        makerIndex: 0,
        retryAfterMs: 51_000,
        remaining: [0],
        orderHashes: [],
      }),
    });
    expect(await post(paths.cancelAll, await signExit('cancelAll', maker, { untilMs: Date.now() }))).toMatchObject({
      code: 'rate_limited',
      headers: { 'Retry-After': '51' },
    });
    const passed = await signExit('heartbeat', maker, { cancelAt: Math.floor(Date.now() / 1000) - 1 });
    const wrongAt = (pointer: string) => ({ code: 'invalid_request', errors: [{ pointer }] });
    expect(await post(paths.heartbeat, passed)).toMatchObject(wrongAt('/cancelAt'));
    const many = await signExit('cancelKeys', maker, { keys: Array(6).fill(key.address) });
    expect(await post(paths.cancelKeys, many)).toMatchObject(wrongAt('/keys'));
    const long = await signExit('fillCap', maker, { token: tokenA, amount: '0x1', windowSeconds: 604_801 });
    expect(await post(paths.fillCap, long)).toMatchObject(wrongAt('/windowSeconds'));
  });

  test('may be signed by a key of the maker unless it names keys or a cap, by nobody else’s, and needs no Postgres', async () => {
    const { post } = openRoutes(noPostgres);
    const ask = async (what: Parameters<typeof signExit>[0], signer = maker) => {
      const terms = {
        cancelAll: { untilMs: Date.now() },
        heartbeat: { cancelAt: 0 },
        cancelKeys: { keys: [] },
        fillCap: { token: tokenA, amount: '0x0A', windowSeconds: 60 },
      };
      const reply = await post(paths[what], await signExit(what, maker, terms[what], signer));
      return isRefusal(reply) ? reply.code : 'taken';
    };
    for (const [what, byKey] of [
      ['cancelAll', 'taken'],
      ['heartbeat', 'taken'],
      ['cancelKeys', 'invalid_signature'],
      ['fillCap', 'invalid_signature'],
    ] as const) {
      expect(await ask(what)).toBe('taken');
      expect(await ask(what, key)).toBe(byKey);
      expect(await ask(what, stranger)).toBe('invalid_signature');
    }
  });
});

describe('a standing instruction', () => {
  const bodyOf = (reply: Reply) => (isRefusal(reply) ? reply.code : JSON.parse(reply.body.toString()));

  test('that is taken says what counts from now on, and in the log who signed it', async () => {
    const asked: unknown[] = [];
    const { post, records } = openRoutes({
      instruct: async ({ instruction }) => {
        asked.push(instruction);
        return taken;
      },
    });
    const beat = await signExit('heartbeat', maker, { cancelAt: 0 }, key);
    const { issuedAtMs } = beat as unknown as { issuedAtMs: number };
    expect(bodyOf(await post(paths.heartbeat, beat))).toEqual({
      ...{ maker: lower(maker), cancelAt: 0, issuedAtMs },
      counts: { cancelAt: 0, issuedAtMs },
    });
    expect(JSON.parse(String(records[0]?.value))).toMatchObject({ cancelAt: 0, issuedAtMs, key: lower(key) });
    const cap = await signExit('fillCap', maker, { token: tokenA, amount: '0x0A', windowSeconds: 60 });
    expect(bodyOf(await post(paths.fillCap, cap))).toMatchObject({ counts: { token: tokenA, amount: '0xa' } });
    expect(asked).toEqual([
      { subject: 'switch', issuedAtMs, terms: { cancelAt: 0 }, key: lower(key) },
      {
        subject: `cap:${tokenA}`,
        issuedAtMs: expect.any(Number),
        terms: { amount: '0xa', windowSeconds: 60 },
        key: undefined,
      },
    ]);
  });

  test('that another one supersedes is refused with what counts, also where it was answered before', async () => {
    let isSuperseded = false;
    const { post, seen } = openRoutes({
      instruct: async () => {
        if (!isSuperseded) return taken;
        return { kind: 'superseded', counts: { amount: '0x2', windowSeconds: 5, issuedAtMs: 9 }, remaining: [1] };
      },
    });
    const cap = await signExit('fillCap', maker, { token: tokenA, amount: '0x1', windowSeconds: 60 });
    expect(bodyOf(await post(paths.fillCap, cap))).toHaveProperty('counts');
    isSuperseded = true;
    expect(await post(paths.fillCap, cap)).toMatchObject({
      code: 'superseded',
      counts: { token: tokenA, amount: '0x2', windowSeconds: 5, issuedAtMs: 9 },
    });
    expect(seen.appended).toBe(1);
  });

  test('is taken while Postgres is away, and until the rows have it nobody knows what counts', async () => {
    const given: { isBehind: boolean; isAway: boolean } = { isBehind: true, isAway: true };
    const store = { instruct: async () => (given.isAway ? away() : taken) };
    const { post } = openRoutes(store, given);
    const counts = async () =>
      bodyOf(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 }))).counts;
    expect(await counts()).toBeNull();
    given.isAway = false;
    expect(await counts()).toBeNull();
    given.isBehind = false;
    expect(await counts()).toHaveProperty('cancelAt', 0);
  });

  test('is released where the log has certainly not stored it', async () => {
    const released: unknown[] = [];
    const { post } = openRoutes(
      { release: async (...release) => void released.push(release) },
      { isLogAway: true, mayHaveBeenAppended: false },
    );
    expect(bodyOf(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 })))).toBe(
      'unavailable',
    );
    expect(released).toEqual([[[expect.stringMatching(/^0x[0-9a-f]{64}$/)], 77]]);
  });

  test.each([
    ['unknown_key', paths.heartbeat, 'unavailable'],
    ['too_many_caps', paths.fillCap, 'invalid_request'],
  ] as const)('is refused as %s', async (kind, path, code) => {
    const { post, seen } = openRoutes({ instruct: async () => ({ kind, remaining: [1] }) });
    const cap = { token: tokenA, amount: '0x1', windowSeconds: 60 };
    const body = await (path === paths.fillCap
      ? signExit('fillCap', maker, cap)
      : signExit('heartbeat', maker, { cancelAt: 0 }));
    expect(await post(path, body)).toMatchObject({ code });
    expect(seen.appended).toBe(0);
  });
});

describe('a mistake of a person', () => {
  const { clock, post, send } = openRoutes({ markAll: async () => ({ ...marked, orderHashes: [] }) });
  beforeEach(() => {
    clock.nowMs = Date.now();
  });
  const faultOf = (reply: Reply) =>
    isRefusal(reply) ? `${reply.code}: ${reply.errors?.map(({ pointer, detail }) => `${pointer} ${detail}`)}` : 'taken';

  test('a time of a message in another unit, as a text, or ahead of the clock by more than its skew', async () => {
    const ahead = (ms: number) => ({ cancelAt: 0, issuedAtMs: Date.now() + ms });
    const ask = async (terms: object) =>
      faultOf(await post(paths.heartbeat, await signExit('heartbeat', maker, terms)));
    expect(await ask(ahead(4_000))).toBe('taken');
    expect(await ask(ahead(7_000))).toMatch(
      'invalid_request: /issuedAtMs must be in milliseconds since 1970, at most 5 s',
    );
    expect(await ask({ cancelAt: Date.now() })).toMatch(/^invalid_request: \/cancelAt .* seconds .* milliseconds$/);
    expect(await ask({ ...ahead(0), issuedAtMs: Math.floor(Date.now() / 1000) })).toMatch(/milliseconds .* seconds$/);
    const body = await signExit('heartbeat', maker, { cancelAt: 0 });
    expect(faultOf(await post(paths.heartbeat, { ...body, cancelAt: 'now' }))).toMatch(
      /^invalid_request: \/cancelAt must/,
    );
  });

  test('a wait in milliseconds, before anything is stored', async () => {
    const ask = async (wait: string) =>
      faultOf(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 }), { prefer: wait }));
    for (const wrong of ['wait=2000', 'receipt, wait=61', 'wait', 'wait="1.5"', 'WAIT = -1; by=router'])
      expect(await ask(wrong)).toBe(
        'invalid_request: /Prefer must have a whole number of seconds as `wait`, from 0 to 60',
      );
    for (const right of ['wait=60', 'wait="0"', 'receipt', 'respond-async, x-await=9999', 'wait=2; by=router, receipt'])
      expect(await ask(right)).toBe('taken');
  });

  test('a cap that is signed by a key that may cancel', async () => {
    const terms = { token: tokenA, amount: '0x1', windowSeconds: 60 };
    const reply = faultOf(await post(paths.fillCap, await signExit('fillCap', maker, terms, key)));
    expect(reply).toMatch(/^invalid_signature: \/signature .*a key that may cancel.*the maker has to sign this$/);
  });

  test('a cap of the native coin, or of an account without code; but not its removal', async () => {
    const asked: string[] = [];
    const { post: cap } = openRoutes(
      {},
      {
        askCode: async (token) => {
          asked.push(token);
          return token === tokenA ? true : token === lower(stranger) ? false : undefined;
        },
      },
    );
    const faultWith = async (token: string, amount = '0x1') =>
      faultOf(await cap(paths.fillCap, await signExit('fillCap', maker, { token, amount, windowSeconds: 60 })));
    for (const native of [ZERO_ADDRESS, `0x${'E'.repeat(40)}`])
      expect(await faultWith(native)).toMatch('invalid_request: /token stands for the native coin');
    expect(await faultWith(stranger.address)).toMatch('invalid_request: /token is no contract');
    expect([await faultWith(stranger.address, '0x0'), await faultWith(ZERO_ADDRESS, '0x0')]).toEqual([
      'taken',
      'taken',
    ]);
    expect([await faultWith(tokenA), await faultWith(other.address)]).toEqual(['taken', 'taken']);
    expect(asked).toEqual([lower(stranger), tokenA, lower(other)]);
  });

  test('a signature that is too long', async () => {
    const body = { ...(await signExit('heartbeat', maker, { cancelAt: 0 })), signature: `0x${'ab'.repeat(1040)}` };
    const fault = 'invalid_request: /signature must be hex bytes, at most 1,024 of them';
    expect(faultOf(await post(paths.heartbeat, body))).toBe(fault);
  });

  test('lists of a DELETE in its body', async () => {
    const reply = await send('DELETE', paths.limitOrders, undefined, { 'content-length': '2' });
    expect(reply).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('…/cancellations takes a body'),
    });
    expect(await send('DELETE', paths.limitOrders, undefined)).toMatchObject({
      detail: expect.not.stringContaining('body'),
    });
  });
});

describe('a contract wallet', () => {
  const store: Partial<PlacementStore> = {
    place: async () => placed,
    findOrders: async (hashes) => hashes.map(() => foundOf({ order: { maker: contract, salt: '0x5' } } as SignedOrder)),
    markCancelling: async () => marked,
    readAmounts: async (hashes) => hashes.map(() => ({ making: 1n, remaining: 1n })),
    markAll: async () => ({ ...marked, orderHashes: [] }),
  };
  const terms = {
    cancelAll: { untilMs: Date.now() },
    heartbeat: { cancelAt: 0 },
    cancelKeys: { keys: [key.address] },
  };
  const lengthened = <T extends { signature: string }>(item: T) => {
    return { ...item, signature: `${item.signature}0badbeef` };
  };
  const sign = async () => lengthened(await signOrder(owner, { maker: contract, salt: '0x5' }));

  function open(given = store) {
    const chain = { isAway: false, asked: [] as boolean[] };
    /** The contract accepts what its owner has signed, and does not look at the bytes behind that. */
    const askWallets: Outside['askWallets'] = async (questions, { isExit }) => {
      chain.asked.push(isExit);
      if (chain.isAway) return 'unknown';
      const at = questions.findIndex(({ wallet, digests: [digest = ''], signature }) => {
        return wallet !== contract || recoverAddress(digest, signature.slice(0, 132)) !== owner.address;
      });
      return at < 0 ? 'accepted' : { at, fault: 'it does not accept it' };
    };
    const { post } = openRoutes(given, { askWallets, cancelKeysOf: () => [lower(key)] });
    const outcomeOf = async (path: string, body: unknown) => {
      const reply = await post(path, body);
      return isRefusal(reply) ? reply.code : 'taken';
    };
    const say = async (what: keyof typeof terms, signer = owner) =>
      outcomeOf(paths[what], await signExit(what, owner, { maker: contract, ...terms[what] }, signer));
    return { chain, post, outcomeOf, say };
  }

  test('takes all back, sends heartbeats and names keys, which cancel for it without the chain', async () => {
    const { chain, outcomeOf, say } = open();
    for (const what of ['cancelAll', 'heartbeat', 'cancelKeys'] as const)
      expect([await say(what, stranger), await say(what)]).toEqual(['invalid_signature', 'taken']);
    const order = await sign();
    const byOwner = lengthened(cancelling(order, owner));
    expect(await outcomeOf(paths.limitOrders, [order])).toBe('taken');
    expect(await outcomeOf(paths.cancellations, [byOwner])).toBe('taken');
    chain.isAway = true;
    expect(await outcomeOf(paths.cancellations, [byOwner])).toBe('unavailable');
    expect(await outcomeOf(paths.cancellations, [cancelling(order, key)])).toBe('taken');
  });

  test('has a place of its own for what takes orders back', async () => {
    const { chain, outcomeOf, say } = open();
    const order = await sign();
    const byOwner = lengthened(cancelling(order, owner));
    const asked = async (ask: Promise<string>) => [await ask, ...chain.asked.splice(0)];
    expect(await asked(outcomeOf(paths.cancellations, [byOwner]))).toEqual(['taken', true]);
    expect(await asked(say('cancelAll'))).toEqual(['taken', true]);
    expect(await asked(say('heartbeat'))).toEqual(['taken', true]);
    expect(await asked(say('cancelKeys'))).toEqual(['taken', false]);
    expect(await asked(outcomeOf(paths.limitOrders, [order]))).toEqual(['taken', false]);
    const replacement = { cancel: [byOwner], place: [order] };
    expect(await asked(outcomeOf(paths.replacements, replacement))).toEqual(['taken', false, false]);
  });

  test('names itself while Postgres is away: cancel-all needs no store, and of a hash it is not known whose it is', async () => {
    const { post, say } = open(noPostgres);
    const byHash = { ...lengthened(cancelling(await sign(), owner)), salt: '0x5' };
    const detail = expect.stringContaining('cancel-all');
    expect(await post(paths.cancellations, [byHash])).toMatchObject({ code: 'unavailable', detail });
    expect(await say('cancelAll')).toBe('taken');
  });

  test('is unavailable while the chain is away; keys are served, and strangers are told so', async () => {
    const { chain, outcomeOf, say } = open();
    const [mine, theirs, foreign] = [await sign(), await signOrder(maker), await signOrder(stranger)];
    chain.isAway = true;
    expect([await outcomeOf(paths.limitOrders, [mine]), await say('heartbeat')]).toEqual(Array(2).fill('unavailable'));
    expect(await outcomeOf(paths.limitOrders, [theirs])).toBe('taken');
    expect(await outcomeOf(paths.limitOrders, [foreign])).toBe('maker_not_whitelisted');
    chain.isAway = false;
    expect(await outcomeOf(paths.limitOrders, [mine])).toBe('taken');
  });
});

describe('a receipt', () => {
  const own = { RECEIPT_SIGNER_KEY: serviceKey, RECEIPT_SIGNERS: `${lower(stranger)},${serviceSigner}` };
  const both = { prefer: 'wait=2, receipt' };
  const orders = Promise.all([signOrder(maker), signOrder(maker), signOrder(maker)]);
  const store: Partial<PlacementStore> = {
    findOrders: async (hashes) => {
      const known = new Map((await orders).slice(0, 2).map((order) => [hashOf(order), foundOf(order)]));
      return hashes.map((hash) => known.get(hash) ?? { state: 'UNKNOWN' });
    },
    markCancelling: async () => marked,
    readAmounts: async (hashes) => hashes.map(() => ({ making: 1n, remaining: 1n })),
    markAll: async () => ({ ...marked, orderHashes: [] }),
    place: async () => placed,
  };
  const headersOf = (reply: Reply) => (isRefusal(reply) ? { code: reply.code, ...reply.headers } : reply.headers);
  const exit = async (what: Parameters<typeof signExit>[0], terms: object) => {
    const body = await signExit(what, maker, terms);
    return [body, { messages: [hashExit(what, body)] }] as const;
  };

  /** A request of each kind, and what its receipt names. */
  const kinds: readonly [path: string, make: () => Promise<readonly [body: unknown, stated: object]>, at: string][] = [
    [
      paths.limitOrders,
      async () => [(await orders).slice(1), { placed: (await orders).slice(1).map(hashOf) }],
      '1 receipt',
    ],
    [
      paths.cancellations,
      async () => {
        const [first, second, never] = await orders;
        const cancelled = [second, first, second].map(hashOf);
        return [[never, second, first, second].map((order) => cancelling(order)), { cancelled }];
      },
      '1 wait=2, receipt',
    ],
    [
      paths.replacements,
      async () => {
        const [first, , never] = await orders;
        const stated = { cancelled: [hashOf(first)], placed: [hashOf(never)] };
        return [{ cancel: [cancelling(first)], place: [never] }, stated];
      },
      '1 wait=2, receipt',
    ],
    [paths.cancelAll, () => exit('cancelAll', { making: tokenA, untilMs: Date.now() }), '0 wait=2, receipt'],
    [paths.heartbeat, () => exit('heartbeat', { cancelAt: 0 }), '0 receipt'],
    [paths.cancelKeys, () => exit('cancelKeys', { keys: [key.address] }), '0 receipt'],
  ];

  test.each(kinds)('of %s names what was stored and where, by the key of the service', async (path, make, at) => {
    const [body, stated] = await make();
    const headers = headersOf(await openRoutes(store, { own }).post(path, body, both)) ?? {};
    const { 'X-Log-Position': position, 'X-Receipt': signature = '', 'Preference-Applied': applied } = headers;
    expect(`${position} ${applied}`).toBe(`${partitionOf(lower(maker), settings.PARTITIONS)}:${at}`);
    const message = { placed: [], cancelled: [], messages: [], position, ...stated };
    const signer = verifyTypedData(typedDataDomain(testDomain), receiptTypes, message, signature);
    expect(signer.toLowerCase()).toBe(serviceSigner);
  });

  test.each(kinds)(
    'of %s is there only if it is preferred, there is a key, and the log has acknowledged',
    async (path, make) => {
      const [body] = await make();
      const ask = async (given: Given, headers: object) =>
        headersOf(await openRoutes(store, given).post(path, body, headers));
      expect(await ask({ own }, both)).toHaveProperty('X-Receipt');
      for (const headers of [await ask({ own }, { prefer: 'wait=2' }), await ask({}, both)]) {
        expect(headers).toHaveProperty('X-Log-Position');
        expect(headers).not.toHaveProperty('X-Receipt');
        expect(headers?.['Preference-Applied'] ?? '').not.toContain('receipt');
      }
      const unknown = await ask({ own, isLogAway: true }, both);
      expect(unknown).toMatchObject({ code: 'unavailable' });
      expect(unknown).not.toHaveProperty('X-Receipt');
    },
  );

  test('is not given where nothing was cancelled', async () => {
    const [, , never] = await orders;
    const headers = headersOf(await openRoutes(store, { own }).post(paths.cancellations, [cancelling(never)], both));
    expect(Object.keys(headers ?? {})).toEqual([]);
  });

  test('of a message that is sent again is the same one', async () => {
    const { post, seen } = openRoutes(store, { own });
    const [body] = await exit('cancelAll', { untilMs: Date.now() });
    const { RateLimit: _, 'RateLimit-Policy': __, ...first } = headersOf(await post(paths.cancelAll, body, both)) ?? {};
    expect(headersOf(await post(paths.cancelAll, body, both))).toEqual(first);
    expect(seen.appended).toBe(1);
  });

  test('is not signed by a key that the info would not name: the start fails', () => {
    expect(() => openRoutes({}, { own: { ...own, RECEIPT_SIGNERS: lower(stranger) } })).toThrow(
      `RECEIPT_SIGNERS lacks ${serviceSigner}`,
    );
  });
});
