import { describe, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { isRefusal, type Reply, type Success } from '@makerbook/http';
import type { Outside } from './parts.js';
import { cancelling, foundOf, key, maker, openIn, openRoutes, other, stranger } from './testing/open-routes.js';
import { hashOf, lower, type SignedOrder, signOrder, signSalts } from './testing/sign-test-orders.js';

describe('cancellations', () => {
  const salted = (order: SignedOrder, signer = maker) => ({ ...cancelling(order, signer), salt: order.order.salt });
  const statuses = (reply: Reply) =>
    isRefusal(reply) ? reply.code : JSON.parse(String(reply.body)).map(({ status }: { status: string }) => status);

  test('are answered for each hash: an unknown one fails no other, and a repeated one is appended once', async () => {
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
    // A key cancels only for its own maker.
    expect(statuses(await post(paths.cancellations, [cancelling(ofOther, key)]))).toBe('invalid_signature');
  });

  test.each([
    ['wait=2; by=router', [], 'in the book', 'wait=2; by=router', undefined],
    ['wait=2; by=router', [], 'not folded yet', 'wait=2; by=router', undefined],
    ['wait=2; by=router', [], 'away', 'wait=2; by=router', undefined],
    ['wait=2; by=router', ['swift', 'slow'], 'in the book', 'wait=2', 'swift, slow'],
    ['wait=2; by=router', ['slow'], 'not folded yet', undefined, 'slow'],
    ['wait=2; by=router', ['slow'], 'never in the book', 'wait=2; by=router', undefined],
    ['wait=2', ['slow'], 'in the book', 'wait=2', undefined],
    ['wait=0; by=router', ['slow'], 'in the book', undefined, undefined],
    ['wait=2; by=router', undefined, 'in the book', 'wait=2', undefined],
  ] as const)('with %s and %j behind, of an order that is %s, say what was waited for', async (...row) => {
    const [prefer, unseen, rows, applied, unseenBy] = row;
    const acks: unknown = unseen && { awaitSeen: async () => unseen, ageSeconds: () => new Map() };
    const isBehind = rows === 'not folded yet';
    const { post, held } = openRoutes({ acks: acks as NonNullable<Outside['acks']>, isBehind });
    const order = await signOrder(maker);
    openIn({ held }, order);
    held.isAway = rows === 'away';
    if (rows !== 'in the book') held.unjudged.add(hashOf(order));
    const reply = await post(paths.cancellations, [salted(order)], { prefer });
    const { headers = {} } = reply as { headers?: Record<string, string> };
    expect([headers['Preference-Applied'], headers['X-Unseen-By']]).toEqual([applied, unseenBy]);
  });

  test('that wait leave places to others: one too many is answered without waiting', async () => {
    const seen = Promise.withResolvers<readonly string[]>();
    const acks: unknown = { awaitSeen: () => seen.promise, ageSeconds: () => new Map() };
    const own = { CONCURRENT_REQUESTS_MAX: '4' };
    const { post, held } = openRoutes({ acks: acks as NonNullable<Outside['acks']>, own });
    const orders = [await signOrder(maker), await signOrder(maker)] as const;
    for (const order of orders) openIn({ held }, order);
    const [first, second] = orders.map((order) =>
      post(paths.cancellations, [salted(order)], { prefer: 'wait=2; by=router' }),
    );
    expect(await second).toMatchObject({
      headers: expect.not.objectContaining({ 'Preference-Applied': expect.anything() }),
    });
    seen.resolve([]);
    expect(await first).toMatchObject({ headers: { 'Preference-Applied': 'wait=2; by=router' } });
  });

  test('of orders that Postgres may have lost need a salt, from the item or else from the query', async () => {
    const { post, seen, held } = openRoutes();
    held.trustedSinceMs = undefined;
    const [own, shared] = [await signOrder(maker), await signOrder(maker)];
    const items = [salted(own), cancelling(shared, maker, '0xabc')];
    expect(statuses(await post(paths.cancellations, items, {}, 'salt=0xabc'))).toEqual(['CANCELLED', 'CANCELLED']);
    // Postgres may have lost rows.
    expect(seen).toMatchObject({ appended: 2, losses: 1 });
  });

  test('with salts are taken while Postgres is down, but a stranger’s signature cancels nothing', async () => {
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

  test('by a cancel key are unavailable while Postgres is down, even if the key is a maker itself', async () => {
    const { post, seen, held } = openRoutes({
      cancelKeysOf: () => [lower(other)],
      isCancelKey: (key) => key === lower(other),
    });
    const order = await signOrder(maker);
    held.isAway = true;
    const refused = { code: 'unavailable', detail: expect.stringMatching(/nothing was cancelled.*use cancel-all/) };
    expect(await post(paths.cancellations, [salted(order, other)])).toMatchObject(refused);
    expect(seen.appended).toBe(0);
    expect(statuses(await post(paths.cancellations, [salted(order)]))).toEqual(['CANCELLED']);
  });

  test('by a cancel key are unavailable while the whitelist is read, but the maker’s are taken', async () => {
    const { post, seen, held } = openRoutes({ isCaughtUp: () => false, cancelKeysOf: () => [] });
    const order = await signOrder(maker);
    openIn({ held }, order);
    expect(statuses(await post(paths.cancellations, [cancelling(order, key)]))).toBe('unavailable');
    expect(seen.appended).toBe(0);
    expect(statuses(await post(paths.cancellations, [cancelling(order)]))).toEqual(['CANCELLED']);
  });

  test('of too many unknown hashes are unavailable, but known orders are still cancelled', async () => {
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

  test('beyond a maker’s budget are refused for the first item of that maker', async () => {
    const known = await signOrder(other);
    const { post, held, clock } = openRoutes();
    openIn({ held }, known);
    held.set(lower(other), { cancels: { left: 0, atMs: clock.nowMs } });
    const items = [cancelling(await signOrder(maker)), cancelling(known, other)];
    expect(await post(paths.cancellations, items)).toMatchObject({ code: 'rate_limited', index: 1 });
  });

  test('have a larger budget for a maker who may place more than others', async () => {
    const known = await signOrder(other);
    const { post, held } = openRoutes({ limitsOf: () => ({ ordersPerSecond: 9_000, ordersBurst: 9_000 }) });
    openIn({ held }, known);
    const { headers } = (await post(paths.cancellations, [cancelling(known, other)])) as Success;
    expect(headers?.['RateLimit']).toBe('"cancels"; r=17999; t=1');
  });

  test('in the body of a DELETE are refused, and the answer names the right path', async () => {
    const { send } = openRoutes();
    const reply = await send('DELETE', paths.limitOrders, undefined, { 'content-length': '2' });
    expect(reply).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('or use POST …/cancellations'),
    });
    expect(await send('DELETE', paths.limitOrders, undefined)).toMatchObject({
      detail: expect.not.stringContaining('body'),
    });
  });
});

describe('a cancellation by salts', () => {
  const untilMs = Date.now();
  const bySalt = (salts: string[], signer = maker) => signSalts(salts, untilMs, maker, signer);
  const told = (reply: Reply) => (isRefusal(reply) ? reply.code : JSON.parse(String(reply.body)));
  /** Two orders with one salt, orders with others, and one with this salt that was accepted later. */
  const openSome = async () => {
    const service = openRoutes();
    const [first, flying, elsewhere, later] = [
      ...[await signOrder(maker, { salt: '0x7' }), await signOrder(maker, { salt: '0x7', nonce: '0x1' })],
      ...[await signOrder(maker, { salt: '0x8' }), await signOrder(maker, { salt: '0x7', nonce: '0x2' })],
    ] as [SignedOrder, SignedOrder, SignedOrder, SignedOrder];
    const ofOther = await signOrder(other, { salt: '0x7' });
    for (const order of [first, elsewhere, later, ofOther]) openIn(service, order);
    service.held.rows.set(hashOf(flying), { inFlight: foundOf(flying) });
    service.held.acceptedAtMs.set(hashOf(later), untilMs + 1);
    return { ...service, meant: [first, flying].map((order) => ({ orderHash: hashOf(order), status: 'CANCELLED' })) };
  };

  test.each([
    ['the maker', maker],
    ['a cancel key', key],
  ])('signed by %s cancels each order that has one, open or in flight', async (_who, signer) => {
    const { post, seen, held, meant } = await openSome();
    const reply = await post(paths.cancellations, await bySalt(['0x7', '0x007', '0x9'], signer));
    expect(told(reply)).toEqual(meant);
    expect(seen.appended).toBe(2);
    expect(held.decisions.map(({ kind }) => kind)).toEqual(['charge', 'mark', 'mark']);
    expect(told(await post(paths.cancellations, await bySalt(['0x9'])))).toEqual([]);
    expect(seen.appended).toBe(2);
  });

  test.each([
    ['a stranger has signed it', stranger, {}, 'invalid_signature'],
    ['Postgres is down', maker, { isAway: true }, 'unavailable'],
    ['rows may be missing', maker, { trustedSinceMs: undefined }, 'unavailable'],
    ['the budget is spent', maker, {}, 'rate_limited'],
  ] as const)('cancels nothing if %s', async (_when, signer, change, code) => {
    const { post, seen, held, clock } = await openSome();
    if (code === 'rate_limited') held.set(lower(maker), { cancels: { left: 1, atMs: clock.nowMs } });
    Object.assign(held, change);
    const reply = await post(paths.cancellations, await bySalt(['0x7'], signer));
    expect(reply).toMatchObject({ code });
    if (code === 'unavailable')
      expect(reply).toMatchObject({ detail: expect.stringContaining('nothing was cancelled') });
    expect([seen.appended, seen.losses, 'index' in reply]).toEqual([0, 'trustedSinceMs' in change ? 1 : 0, false]);
  });
});

describe('cancellations of hashes that nobody has placed', () => {
  const salted = async (more: object = {}, signer = maker) => {
    const order = await signOrder(signer);
    return { ...cancelling(order, signer), salt: order.order.salt, ...more };
  };
  const codeOf = (reply: Reply) => (isRefusal(reply) ? `${reply.code} ${reply.headers?.['Retry-After']}` : 'cancelled');

  /** Opens routes that know no hash except this one. */
  function open(known?: SignedOrder, own: Record<string, string> = {}) {
    const limitsOf = (address: Hex) => (address === lower(other) ? { ordersPerSecond: 7, ordersBurst: 7 } : {});
    const service = openRoutes({ own, limitsOf });
    service.held.trustedSinceMs = undefined;
    if (known !== undefined) openIn(service, known);
    return { ...service, cancel: async (...items: unknown[]) => service.post(paths.cancellations, items) };
  }

  test('are charged like orders, and kept until the expiry that the request names, or else for good', async () => {
    const { cancel, post, held, records } = open();
    const facts = () => records.map(({ value }) => JSON.parse(String(value)));
    const items = [await salted({ expiresAt: '0x0123' }), await salted({}, other), await salted({ expiresAt: '0x1' })];
    expect(codeOf(await cancel(...items, items[0]))).toBe('cancelled');
    expect([maker, other].map((one) => held.makers.get(lower(one))?.orders.left)).toEqual([998, 6]);
    const forGood = Number.MAX_SAFE_INTEGER;
    expect(facts()).toMatchObject([0x123, forGood, 1].map((expiresAtSeconds) => ({ expiresAtSeconds })));
    // The expiry of the query is for the items without one.
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
  ])('are refused if Postgres says %j, and nothing is cancelled', async (standing, own, expected) => {
    const known = await signOrder(maker);
    const { cancel, seen, held } = open(known, { ORDER_BUDGET_PER_SECOND: '1', ...own });
    held.set(lower(maker), standing);
    const items = [await salted(), ...(expected.startsWith('too_many') ? [await salted()] : [])];
    expect(codeOf(await cancel(...items, cancelling(known)))).toBe(expected);
    expect(seen.appended).toBe(0);
  });

  test('are limited by each process itself while Postgres is down', async () => {
    const { cancel, seen, clock, held } = open(undefined, { ORDER_BUDGET_BURST: '2', ORDER_BUDGET_PER_SECOND: '1' });
    held.isAway = true;
    expect(codeOf(await cancel(await salted(), await salted(), await salted()))).toBe('too_many_orders undefined');
    expect(codeOf(await cancel(await salted(), await salted()))).toBe('cancelled');
    expect(codeOf(await cancel(await salted()))).toBe('rate_limited 1');
    expect(codeOf(await cancel(await salted({}, other)))).toBe('cancelled');
    clock.nowMs += 1_000;
    expect(codeOf(await cancel(await salted()))).toBe('cancelled');
    expect(seen.appended).toBe(4);
  });
});
