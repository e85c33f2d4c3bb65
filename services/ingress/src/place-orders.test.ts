import { describe, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http';
import { REQUEST_AGE_MS_MAX } from '@makerbook/domain';
import { isRefusal } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { cancelling, foundOf, key, maker, openIn, openRoutes, settings, stranger } from './testing/open-routes.js';
import { hashOf, lower, newWallet, signOrder } from './testing/sign-test-orders.js';

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

  test('that others overtake are decided again, three times at most', async () => {
    const { held, post, seen } = openRoutes();
    held.overtaken = 3;
    expect(await post(paths.limitOrders, [await signOrder(maker)])).toHaveProperty('body');
    held.overtaken = 4;
    expect(await post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'unavailable' });
    expect(seen.appended).toBe(1);
  });

  test('that were received too long ago are not placed: a DELETE may have called them unknown', async () => {
    const isCaughtUp = () => {
      service.clock.nowMs += REQUEST_AGE_MS_MAX + 1;
      return true;
    };
    const service = openRoutes({ isCaughtUp });
    expect(await service.post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'unavailable' });
    expect(service.seen.appended).toBe(0);
  });

  test.each([
    ['stored', {}],
    ['of an unknown outcome', { isLogAway: true }],
  ])(
    '%s by a clock that is ahead get the time of that clock in the answer, so that cancel-all covers them',
    async (_, given) => {
      const { post, clock } = openRoutes({ ...given, storeAheadMs: 700 });
      const { headers } = await post(paths.limitOrders, [await signOrder(maker)]);
      expect(headers).toMatchObject({ 'X-Server-Time': String(clock.nowMs + 700) });
    },
  );

  test('that were stored by a clock that is ahead get its time again if they are sent again', async () => {
    const { post, clock, held } = openRoutes({ storeAheadMs: 700 });
    const order = await signOrder(maker);
    held.hashes.set(hashOf(order), { remembered: 'ACCEPTED' });
    const refused = await post(paths.limitOrders, [order]);
    expect(refused).toMatchObject({ code: 'duplicate', headers: { 'X-Server-Time': String(clock.nowMs + 700) } });
  });

  test('are appended only while the lag of the read model is within its limit', async () => {
    const lagSeconds = settings.PROJECTION_LAG_SECONDS_MAX;
    const timely = openRoutes({ lagSeconds });
    expect(await timely.post(paths.limitOrders, [await signOrder(maker)])).toHaveProperty('body');
    expect(timely.seen.appended).toBe(1);
    const late = openRoutes({ lagSeconds: lagSeconds + 1 });
    expect(await late.post(paths.limitOrders, [await signOrder(maker)])).toMatchObject({ code: 'unavailable' });
    expect(late.seen.appended).toBe(0);
  });

  test.each([
    ['in time', 0, 'stored'],
    ['later than their rows are kept', 8_001, 'unavailable'],
  ])('that the log stores %s are confirmed only if that is soon enough', async (_what, brokerAheadMs, expected) => {
    const { post, records, held, clock } = openRoutes({ brokerAheadMs });
    const placed = await signOrder(maker);
    const reply = await post(paths.limitOrders, [placed]);
    expect(isRefusal(reply) ? reply.code : 'stored').toBe(expected);
    expect(records.map(({ headers }) => headers['stored_by'])).toEqual([String(clock.nowMs + 8_000)]);
    // Another request that places the order waits until the clock of the rows has passed.
    expect(held.released).toEqual([]);
    const open = await signOrder(maker);
    openIn({ held }, open);
    await post(paths.replacements, { cancel: [cancelling(open)], place: [await signOrder(maker)] });
    expect(records.slice(1).map(({ headers }) => headers['stored_by'])).toEqual(
      Array(2).fill(String(clock.nowMs + 8_000)),
    );
    openIn({ held }, open);
    await post(paths.cancellations, [cancelling(open)]);
    expect(records.at(-1)?.headers['stored_by']).toBeUndefined();
  });

  test('that another request is placing are waited for, and then Valid-Until is checked again', async () => {
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
  ] as const)('that %s are refused after Valid-Until with the right reason', async (_what, found, code) => {
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

  test('of several makers are acknowledged with the last position in each partition', async () => {
    let [first, second] = [newWallet(), newWallet()];
    const partition = (of: typeof first) => partitionOf(lower(of), settings.PARTITIONS);
    while (partition(first) === partition(second)) [first, second] = [second, newWallet()];
    const { post } = openRoutes({ admissionOf: () => 'ADMITTED' });
    const orders = await Promise.all([first, second, first, first].map((one) => signOrder(one)));
    const { headers } = (await post(paths.limitOrders, orders)) as { headers?: Record<string, string> };
    expect(headers?.['X-Log-Position']).toBe(`${partition(first)}:2, ${partition(second)}:0`);
  });

  test('that anybody can repeat are charged to the sender’s address, and the others to their maker', async () => {
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
    // Two of the three timely orders are known.
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
