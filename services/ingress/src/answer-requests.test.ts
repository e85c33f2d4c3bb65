import { beforeEach, describe, expect, test } from '@jest/globals';
import { receiptTypes, typedDataDomain } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { FILL_CAPS_MAX, noExits, REQUEST_AGE_MS_MAX } from '@makerbook/domain';
import { type ApiRequest, isRefusal, type Refusal, type Reply } from '@makerbook/http';
import { type Appender, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import { recoverAddress, verifyTypedData } from 'ethers';
import { ingressSettings } from './env.js';
import type { Outside } from './parts.js';
import { createRoutes } from './run.js';
import { holdTestStore } from './testing/hold-test-store.js';
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
/** The routes on a store that answers as it is told to, and a log that counts. */
function openRoutes(given: Given = {}) {
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
  const { held, store } = holdTestStore(() => clock.nowMs);
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
    store,
    rows: { lagSeconds: () => lagSeconds, appended: () => undefined, havePassed: async () => given.isBehind !== true },
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
const foundOf = ({ order }: SignedOrder) => ({
  maker: order.maker as Hex,
  salt: order.salt as Hex,
  expiresAtSeconds: 9,
});
/** It is open, with so much of it left. */
const openIn = ({ held }: Pick<ReturnType<typeof openRoutes>, 'held'>, order: SignedOrder, remaining = 100n) => {
  held.rows.set(hashOf(order), { open: foundOf(order), isAccepted: true });
  const amounts = { making: 100n, remaining, expiresAtSeconds: 9 };
  held.hashes.set(hashOf(order), { remembered: 'ACCEPTED', order: amounts });
};

describe('orders', () => {
  test('that were stored too late are released, and not appended', async () => {
    const { held, clock, post, seen } = openRoutes();
    held.onWrite = () => {
      clock.nowMs += settings.POSTGRES_TIMEOUT_MS + 1;
    };
    const order = await signOrder(maker);
    expect(await post(paths.limitOrders, [order])).toMatchObject({ code: 'unavailable' });
    expect(held.released).toEqual([[hashOf(order)]]);
    expect(seen.appended).toBe(0);
  });

  test('that others overtake are decided again, three times at most, and then alone', async () => {
    const { held, post, seen } = openRoutes();
    held.overtaken = 3;
    expect(await post(paths.limitOrders, [await signOrder(maker)])).toHaveProperty('body');
    held.overtaken = 4;
    expect(await post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'unavailable' });
    expect(seen.appended).toBe(1);
  });

  test('that were received too long ago are not placed: a DELETE may have been told that they are unknown', async () => {
    const isCaughtUp = () => {
      service.clock.nowMs += REQUEST_AGE_MS_MAX + 1;
      return true;
    };
    const service = openRoutes({ isCaughtUp });
    expect(await service.post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'unavailable' });
    expect(service.seen.appended).toBe(0);
  });

  test('that Postgres placed in time are appended, while the read model is behind by no more than is allowed', async () => {
    const lagSeconds = settings.PROJECTION_LAG_SECONDS_MAX;
    const timely = openRoutes({ lagSeconds });
    expect(await timely.post(paths.limitOrders, [await signOrder(maker)])).toHaveProperty('body');
    expect(timely.seen.appended).toBe(1);
    const late = openRoutes({ lagSeconds: lagSeconds + 1 });
    expect(await late.post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'unavailable' });
    expect(late.seen.appended).toBe(0);
  });

  test('that another request places are waited for, and Valid-Until is judged again then', async () => {
    const { post, clock, held } = openRoutes();
    const orders = [await signOrder(maker)];
    for (const order of orders) held.hashes.set(hashOf(order), { inFlight: { expiresAtSeconds: 9 } });
    expect(await post(paths.limitOrders, orders)).toMatchObject({
      code: 'unavailable',
      index: 0,
      headers: { 'Retry-After': '2' },
    });
    const headers = { 'valid-until-ms': String(clock.nowMs + 50) };
    expect(await post(paths.limitOrders, orders, headers)).toMatchObject({ code: 'valid_until_passed' });
  });

  test.each([
    ['are open', 'open', 'duplicate'],
    ['were accepted before', 'gone', 'duplicate'],
    ['are still on their way', 'inFlight', 'valid_until_passed'],
    ['are unknown', 'unknown', 'valid_until_passed'],
    ['cannot be looked up', 'away', 'valid_until_passed'],
  ] as const)('that %s, after Valid-Until, are told so', async (_what, found, code) => {
    const late = await signOrder(maker);
    const { post, clock, seen, held } = openRoutes();
    held.isAway = found === 'away';
    if (found === 'gone') held.rows.set(hashOf(late), { isAccepted: true });
    if (found === 'open' || found === 'inFlight') held.rows.set(hashOf(late), { [found]: foundOf(late) });
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
    const { post } = openRoutes({ admissionOf: () => 'ADMITTED' });
    const orders = await Promise.all([first, second, first, first].map((one) => signOrder(one)));
    const { headers } = (await post(paths.limitOrders, orders)) as { headers?: Record<string, string> };
    expect(headers?.['X-Log-Position']).toBe(`${partition(first)}:2, ${partition(second)}:0`);
  });

  test('that anybody can repeat are charged to the address that sends them, and the others to their maker', async () => {
    const { post, seen, held } = openRoutes();
    const late = () => signOrder(maker, { expiresAt: '0x1' });
    const orders = await Promise.all([late(), signOrder(maker), signOrder(maker), signOrder(maker), late()]);
    const codeOf = async (...items: unknown[]) => {
      const reply = await post(paths.limitOrders, items);
      return isRefusal(reply) ? `${reply.code} ${reply.index}` : 'none';
    };
    const left = () => held.makers.get(lower(maker))?.orders.left;
    expect(await codeOf(await late())).toBe('order_expired 0');
    expect([left(), seen.charged]).toEqual([undefined, 1]);
    // Two of the three that are timely are known.
    for (const order of orders.slice(2, 4)) openIn({ held }, order);
    expect(await codeOf(...orders)).toBe('order_expired 0');
    expect([left(), seen.charged]).toEqual([999, 5]);
    expect(await codeOf(...orders.slice(1, 4))).toBe('duplicate 1');
    expect([left(), seen.charged]).toEqual([998, 7]);
    const passed = openRoutes({ nonceOf: () => 1n });
    expect(await passed.post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'order_cancelled' });
    expect(passed.seen.charged).toBe(1);
  });

  test('that are refused show the limits of their maker in the headers', async () => {
    const limitsOf = () => ({ openOrdersMax: 2, ordersPerSecond: 10, ordersBurst: 20 });
    const { post, held } = openRoutes({ limitsOf });
    held.set(lower(maker), { open: 2 });
    expect(await post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({
      code: 'too_many_orders',
      index: 0,
      detail: expect.stringMatching(/may have 2 open orders/),
      headers: { 'RateLimit-Policy': expect.stringContaining('q=20; w=2') },
    });
  });

  test('are refused for the lowest phase first, then for the lowest index', async () => {
    const { post, held } = openRoutes();
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
    openIn({ held }, again);
    expect(await codeOf(again)).toBe('duplicate 0');
  });
});

describe('cancellations', () => {
  const salted = (order: SignedOrder, signer = maker) => ({ ...cancelling(order, signer), salt: order.order.salt });
  const statuses = (reply: Reply) =>
    isRefusal(reply) ? reply.code : JSON.parse(String(reply.body)).map(({ status }: { status: string }) => status);

  test('are answered for each hash: an unknown one does not fail the rest, a repeated one is appended once', async () => {
    const [own, ofOther, never] = [await signOrder(maker), await signOrder(other), await signOrder(maker)];
    const { post, seen, held } = openRoutes();
    for (const order of [own, ofOther]) openIn({ held }, order);
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
    const { post, held } = openRoutes(given);
    held.isAway = true;
    const reply = await post(paths.cancellations, [salted(await signOrder(maker))], { prefer });
    const { headers = {} } = reply as { headers?: Record<string, string> };
    expect([headers['Preference-Applied'], headers['X-Unseen-By']]).toEqual([applied, unseenBy]);
  });

  test('of orders that Postgres cannot tell of need their salt: of the item, before that of the query', async () => {
    const { post, seen, held } = openRoutes();
    held.trustedSinceMs = undefined;
    const [own, shared] = [await signOrder(maker), await signOrder(maker)];
    const items = [salted(own), cancelling(shared, maker, '0xabc')];
    expect(statuses(await post(paths.cancellations, items, {}, 'salt=0xabc'))).toEqual(['CANCELLED', 'CANCELLED']);
    // Postgres may have lost rows.
    expect(seen).toMatchObject({ appended: 2, losses: 1 });
  });

  test('go on with their salts while Postgres is away, and a signature by a stranger cancels nothing', async () => {
    const { post, seen, held } = openRoutes();
    held.isAway = true;
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
    const { post, held } = openRoutes();
    openIn({ held }, known);
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
  function open(known?: SignedOrder, own: Record<string, string> = {}) {
    const limitsOf = (address: Hex) => (address === lower(other) ? { ordersPerSecond: 7, ordersBurst: 7 } : {});
    const service = openRoutes({ own, limitsOf });
    service.held.trustedSinceMs = undefined;
    if (known !== undefined) openIn(service, known);
    return { ...service, cancel: async (...items: unknown[]) => service.post(paths.cancellations, items) };
  }

  test('are charged like orders of their makers, and kept until the expiry that the request names, else for good', async () => {
    const { cancel, post, held, records } = open();
    const facts = () => records.map(({ value }) => JSON.parse(String(value)));
    const items = [await salted({ expiresAt: '0x0123' }), await salted({}, other), await salted({ expiresAt: '0x1' })];
    expect(codeOf(await cancel(...items, items[0]))).toBe('cancelled');
    expect([maker, other].map((one) => held.makers.get(lower(one))?.orders.left)).toEqual([998, 6]);
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
    [{ orders: { left: -2, atMs: Date.now() + 3_600_000 } }, {}, 'rate_limited 3'],
    [{}, { ORDER_BUDGET_BURST: '1', ORDER_BUDGET_PER_SECOND: '1' }, 'too_many_orders undefined'],
    [{ remembered: 999 }, { REMEMBERED_HASHES_PER_MAKER_MAX: '1000' }, 'too_many_orders undefined'],
  ])('are refused where Postgres says %j, and nothing is cancelled', async (standing, own, expected) => {
    const known = await signOrder(maker);
    const { cancel, seen, held } = open(known, { ORDER_BUDGET_PER_SECOND: '1', ...own });
    held.set(lower(maker), standing);
    const items = [await salted(), ...(expected.startsWith('too_many') ? [await salted()] : [])];
    expect(codeOf(await cancel(...items, cancelling(known)))).toBe(expected);
    expect(seen.appended).toBe(0);
  });

  test('leave no marks where the budget of cancellations does not hold the others', async () => {
    const known = await signOrder(maker);
    const { cancel, seen, held } = open(known, { CANCEL_BUDGET_PER_SECOND: '1' });
    held.set(lower(maker), { cancels: { left: -8, atMs: Date.now() + 3_600_000 } });
    const unknown = await salted();
    expect(codeOf(await cancel(unknown, cancelling(known)))).toBe('rate_limited 9');
    expect([seen.appended, held.decisions.filter(({ kind }) => kind === 'mark')]).toEqual([0, []]);
  });

  test('while Postgres is away are bounded by what this process has taken', async () => {
    const { cancel, seen, clock, held } = open(undefined, { ORDER_BUDGET_BURST: '2', ORDER_BUDGET_PER_SECOND: '1' });
    held.isAway = true;
    expect(codeOf(await cancel(await salted(), await salted(), await salted()))).toBe('too_many_orders undefined');
    expect(codeOf(await cancel(await salted(), await salted()))).toBe('cancelled');
    expect(codeOf(await cancel(await salted()))).toBe('rate_limited 1');
    expect(codeOf(await cancel(await salted({}, other)))).toBe('cancelled');
    clock.nowMs += 1_000;
    expect(codeOf(await cancel(await salted()))).toBe('cancelled');
    expect(seen.appended).toBe(4);
    const many = open(undefined, { REMEMBERED_HASHES_PER_MAKER_MAX: '1000', MAX_CANCELS_PER_DELETE: '500' });
    many.held.isAway = true;
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
  const all = 100n;
  const part = 40n;

  test.each([
    ['whose order nobody has filled', [all, all], [], 'stored'],
    ['that names what is left', [all, part], ['0x64', '0x028'], 'stored'],
    ['whose orders the fold has not seen', [undefined, undefined], ['0x5', undefined], 'stored'],
    ['that does not know of a fill', [all, part], [], 'remaining_changed 1 0x28 /cancel/1/remainingMakingAmount'],
    [
      'that names more than is left',
      [all, part],
      [undefined, '0x29'],
      'remaining_changed 1 0x28 /cancel/1/remainingMakingAmount',
    ],
    ['that names less than is left', [part, all], ['0x27'], 'remaining_changed 0 0x28 /cancel/0/remainingMakingAmount'],
    [
      'that believes in a fill',
      [all, all],
      [undefined, '0x63'],
      'remaining_changed 1 0x64 /cancel/1/remainingMakingAmount',
    ],
    ['whose order has ended meanwhile', [all, 'ended'], [], 'unavailable undefined undefined undefined'],
    ['while Postgres is away', undefined, [], 'unavailable undefined undefined undefined'],
  ] as const)('%s happens, or not at all', async (_what, amounts, left, expected) => {
    const orders = [await signOrder(maker), await signOrder(maker)];
    const service = openRoutes();
    const { held, seen, post } = service;
    for (const [at, order] of orders.entries()) {
      const amount = amounts?.[at];
      if (typeof amount === 'bigint') openIn(service, order, amount);
      else if (amount === 'ended') held.rows.set(hashOf(order), { open: foundOf(order) });
      else {
        held.rows.set(hashOf(order), { inFlight: foundOf(order) });
        held.hashes.set(hashOf(order), { inFlight: { expiresAtSeconds: 9 } });
      }
    }
    held.isAway = amounts === undefined;
    const cancel = orders.map((order, at) => ({ ...cancelling(order), remainingMakingAmount: left[at] }));
    const reply = await post(paths.replacements, { cancel, place: [await signOrder(maker)] });
    const { code, index, remainingMakingAmount, errors } = reply as Refusal;
    expect(isRefusal(reply) ? `${code} ${index} ${remainingMakingAmount} ${errors?.[0]?.pointer}` : 'stored').toBe(
      expected,
    );
    const stored = held.decisions.filter(({ kind }) => kind !== 'charge').length;
    expect([seen.appended, stored]).toEqual(expected === 'stored' ? [3, 3] : [0, 0]);
  });
});

describe('what a maker says of all its orders', () => {
  test('is charged once, a cancellation of all like a hundred', async () => {
    const { post, seen, held } = openRoutes();
    const spent = async (path: string, body: object) => {
      expect(await post(path, body)).toHaveProperty('body');
      return settings.CANCEL_BUDGET_BURST - (held.makers.get(lower(maker))?.cancels.left ?? 0);
    };
    const all = await signExit('cancelAll', maker, { untilMs: Date.now() });
    const beat = await signExit('heartbeat', maker, { cancelAt: 0 });
    expect([await spent(paths.cancelAll, all), await spent(paths.cancelAll, all)]).toEqual([100, 100]);
    expect([await spent(paths.heartbeat, beat), await spent(paths.heartbeat, beat)]).toEqual([101, 101]);
    expect(seen.appended).toBe(2);
  });

  test('is refused where the budget is spent, or a time has passed, the keys are too many, or a window is too long', async () => {
    const { post, held } = openRoutes({ own: { CANCEL_BUDGET_PER_SECOND: '2' } });
    held.set(lower(maker), { cancels: { left: -2, atMs: Date.now() + 3_600_000 } });
    expect(await post(paths.cancelAll, await signExit('cancelAll', maker, { untilMs: Date.now() }))).toMatchObject({
      code: 'rate_limited',
      headers: { 'Retry-After': '51' },
    });
    held.set(lower(maker), { cancels: { left: undefined, atMs: 0 } });
    const passed = await signExit('heartbeat', maker, { cancelAt: Math.floor(Date.now() / 1000) - 1 });
    const wrongAt = (pointer: string) => ({ code: 'invalid_request', errors: [{ pointer }] });
    expect(await post(paths.heartbeat, passed)).toMatchObject(wrongAt('/cancelAt'));
    const many = await signExit('cancelKeys', maker, { keys: Array(6).fill(key.address) });
    expect(await post(paths.cancelKeys, many)).toMatchObject(wrongAt('/keys'));
    const long = await signExit('fillCap', maker, { token: tokenA, amount: '0x1', windowSeconds: 604_801 });
    expect(await post(paths.fillCap, long)).toMatchObject(wrongAt('/windowSeconds'));
  });

  test('may be signed by a key of the maker unless it names keys or a cap, by nobody else’s, and needs no Postgres', async () => {
    const { post, held } = openRoutes();
    held.isAway = true;
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
    const { post, records, held } = openRoutes();
    held.set(lower(maker), { exits: { ...noExits, cancelKeys: [lower(key)], keysIssuedAtMs: 1 } });
    const beat = await signExit('heartbeat', maker, { cancelAt: 0 }, key);
    const { issuedAtMs } = beat as unknown as { issuedAtMs: number };
    expect(bodyOf(await post(paths.heartbeat, beat))).toEqual({
      ...{ maker: lower(maker), cancelAt: 0, issuedAtMs },
      counts: { cancelAt: 0, issuedAtMs },
    });
    expect(JSON.parse(String(records[0]?.value))).toMatchObject({ cancelAt: 0, issuedAtMs, key: lower(key) });
    const cap = await signExit('fillCap', maker, { token: tokenA, amount: '0x0A', windowSeconds: 60 });
    expect(bodyOf(await post(paths.fillCap, cap))).toMatchObject({ counts: { token: tokenA, amount: '0xa' } });
    expect(held.makers.get(lower(maker))?.instructions).toEqual([
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
    const { post, seen, held } = openRoutes();
    const cap = await signExit('fillCap', maker, { token: tokenA, amount: '0x1', windowSeconds: 60 });
    expect(bodyOf(await post(paths.fillCap, cap))).toHaveProperty('counts');
    const issuedAtMs = Date.now() + 60_000;
    const newer = { subject: `cap:${tokenA}`, issuedAtMs, terms: { amount: '0x2', windowSeconds: 5 } };
    held.set(lower(maker), { instructions: [newer] });
    expect(await post(paths.fillCap, cap)).toMatchObject({
      code: 'superseded',
      counts: { token: tokenA, amount: '0x2', windowSeconds: 5, issuedAtMs },
    });
    expect(seen.appended).toBe(1);
  });

  test('is taken while Postgres is away, and until the rows have it nobody knows what counts', async () => {
    const given: { isBehind: boolean } = { isBehind: true };
    const { post, held } = openRoutes(given);
    held.isAway = true;
    const counts = async () =>
      bodyOf(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 }))).counts;
    expect(await counts()).toBeNull();
    held.isAway = false;
    expect(await counts()).toBeNull();
    given.isBehind = false;
    expect(await counts()).toHaveProperty('cancelAt', 0);
  });

  test('is released where the log has certainly not stored it', async () => {
    const { post, held } = openRoutes({ isLogAway: true, mayHaveBeenAppended: false });
    expect(bodyOf(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 })))).toBe(
      'unavailable',
    );
    expect(held.released).toEqual([[expect.stringMatching(/^0x[0-9a-f]{64}$/)]]);
  });

  test('is refused where the key is not known, or too many tokens have a cap', async () => {
    const { post, seen, held } = openRoutes();
    expect(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 }, key))).toMatchObject({
      code: 'unavailable',
    });
    const instructions = Array.from({ length: FILL_CAPS_MAX }, (_, n) => {
      return { subject: `cap:${n}`, issuedAtMs: 1, terms: { amount: '0x1', windowSeconds: 5 } };
    });
    held.set(lower(maker), { instructions });
    const cap = { token: tokenA, amount: '0x1', windowSeconds: 60 };
    const errors = [{ pointer: '/token', detail: expect.stringMatching(/^is one more than the 100 tokens/) }];
    expect(await post(paths.fillCap, await signExit('fillCap', maker, cap))).toMatchObject({
      code: 'invalid_request',
      errors,
    });
    expect(seen.appended).toBe(0);
  });
});

describe('a mistake of a person', () => {
  const { clock, post, send, held } = openRoutes();
  beforeEach(() => {
    clock.nowMs = Date.now();
    held.makers.clear();
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
    const { post: cap } = openRoutes({
      askCode: async (token) => {
        asked.push(token);
        return token === tokenA ? true : token === lower(stranger) ? false : undefined;
      },
    });
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
  const terms = {
    cancelAll: { untilMs: Date.now() },
    heartbeat: { cancelAt: 0 },
    cancelKeys: { keys: [key.address] },
  };
  const lengthened = <T extends { signature: string }>(item: T) => {
    return { ...item, signature: `${item.signature}0badbeef` };
  };
  const sign = async () => lengthened(await signOrder(owner, { maker: contract, salt: '0x5' }));

  function open(isAway = false) {
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
    const service = openRoutes({ askWallets, cancelKeysOf: () => [lower(key)] });
    const { post, held } = service;
    held.isAway = isAway;
    const openOrder = (order: SignedOrder) => openIn(service, order);
    const outcomeOf = async (path: string, body: unknown) => {
      const reply = await post(path, body);
      return isRefusal(reply) ? reply.code : 'taken';
    };
    const say = async (what: keyof typeof terms, signer = owner) =>
      outcomeOf(paths[what], await signExit(what, owner, { maker: contract, ...terms[what] }, signer));
    return { chain, post, openOrder, outcomeOf, say };
  }

  test('takes all back, sends heartbeats and names keys, which cancel for it without the chain', async () => {
    const { chain, openOrder, outcomeOf, say } = open();
    for (const what of ['cancelAll', 'heartbeat', 'cancelKeys'] as const)
      expect([await say(what, stranger), await say(what)]).toEqual(['invalid_signature', 'taken']);
    const order = await sign();
    const byOwner = lengthened(cancelling(order, owner));
    expect(await outcomeOf(paths.limitOrders, [order])).toBe('taken');
    openOrder(order);
    expect(await outcomeOf(paths.cancellations, [byOwner])).toBe('taken');
    chain.isAway = true;
    expect(await outcomeOf(paths.cancellations, [byOwner])).toBe('unavailable');
    expect(await outcomeOf(paths.cancellations, [cancelling(order, key)])).toBe('taken');
  });

  test('has a place of its own for what takes orders back', async () => {
    const { chain, openOrder, outcomeOf, say } = open();
    const order = await sign();
    openOrder(order);
    const byOwner = lengthened(cancelling(order, owner));
    const asked = async (ask: Promise<string>) => [await ask, ...chain.asked.splice(0)];
    expect(await asked(outcomeOf(paths.cancellations, [byOwner]))).toEqual(['taken', true]);
    expect(await asked(say('cancelAll'))).toEqual(['taken', true]);
    expect(await asked(say('heartbeat'))).toEqual(['taken', true]);
    expect(await asked(say('cancelKeys'))).toEqual(['taken', false]);
    const next = lengthened(await signOrder(owner, { maker: contract, salt: '0x6' }));
    expect(await asked(outcomeOf(paths.limitOrders, [next]))).toEqual(['taken', false]);
    const third = lengthened(await signOrder(owner, { maker: contract, salt: '0x7' }));
    const replaced = lengthened(await signOrder(owner, { maker: contract, salt: '0x8' }));
    openOrder(replaced);
    const replacement = { cancel: [lengthened(cancelling(replaced, owner))], place: [third] };
    expect(await asked(outcomeOf(paths.replacements, replacement))).toEqual(['taken', false, false]);
  });

  test('names itself while Postgres is away: cancel-all needs no store, and of a hash it is not known whose it is', async () => {
    const { post, say } = open(true);
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
  const openAll = async (given: Given) => {
    const service = openRoutes(given);
    for (const order of (await orders).slice(0, 2)) openIn(service, order);
    return service;
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
      async () => [(await orders).slice(2), { placed: (await orders).slice(2).map(hashOf) }],
      '0 receipt',
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
    const headers = headersOf(await (await openAll({ own })).post(path, body, both)) ?? {};
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
        headersOf(await (await openAll(given)).post(path, body, headers));
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
    const headers = headersOf(await (await openAll({ own })).post(paths.cancellations, [cancelling(never)], both));
    expect(Object.keys(headers ?? {})).toEqual([]);
  });

  test('of a message that is sent again is the same one', async () => {
    const { post, seen } = openRoutes({ own });
    const [body] = await exit('cancelAll', { untilMs: Date.now() });
    const { RateLimit: _, 'RateLimit-Policy': __, ...first } = headersOf(await post(paths.cancelAll, body, both)) ?? {};
    expect(headersOf(await post(paths.cancelAll, body, both))).toEqual(first);
    expect(seen.appended).toBe(1);
  });

  test('is not signed by a key that the info would not name: the start fails', () => {
    expect(() => openRoutes({ own: { ...own, RECEIPT_SIGNERS: lower(stranger) } })).toThrow(
      `RECEIPT_SIGNERS lacks ${serviceSigner}`,
    );
  });
});
