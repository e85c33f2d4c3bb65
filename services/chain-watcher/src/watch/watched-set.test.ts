import { describe, expect, test } from '@jest/globals';
import type { MakerObserved } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import fc from 'fast-check';
import { type UnreadOrder, type WatchedOrder, WatchedSet } from './watched-set.js';

const accountOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;
const hashOf = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const UNREAD: UnreadOrder = { sinceMs: 0, trace: undefined };
const orderOf = (n: number, maker = 1, token = 1, expiresAtSeconds = 100): WatchedOrder => ({
  orderHash: hashOf(n),
  maker: accountOf(maker),
  makingToken: accountOf(100 + token),
  expiresAtSeconds,
  walletSignature: null,
});
const reading = (maker: number, rest: Partial<MakerObserved>): MakerObserved => ({
  type: 'MakerObserved',
  maker: accountOf(maker),
  block: { number: 1, hash: hashOf(1), timestamp: 1 },
  cause: { kind: 'read', occasion: 'ORDER' },
  funds: [],
  orders: [],
  ...rest,
});
const named = (n: number) => ({ orderHash: hashOf(n), filled: '0x0', cancelled: false }) as const;
const unreadIn = (set: WatchedSet) => [...set.unread.keys()].map((slot) => set.orderHash(slot));

type Step =
  | { readonly do: 'add'; readonly n: number; readonly maker: number; readonly token: number; readonly due: number }
  | { readonly do: 'remove'; readonly n: number }
  | { readonly do: 'expire'; readonly now: number };

/** Each time is a minute or more behind the one before: within a minute nothing expires. */
function inOrder(given: readonly Step[]): Step[] {
  let now = 0;
  return given.map((step) => {
    if (step.do === 'remove') return step;
    if (step.do === 'add') return { ...step, due: now + step.due * 60 };
    now += step.now * 60;
    return { ...step, now };
  });
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('add' as const),
      n: fc.nat(30),
      maker: fc.nat(4),
      token: fc.nat(3),
      due: fc.integer({ min: 1, max: 50 }),
    }),
    fc.record({ do: fc.constant('remove' as const), n: fc.nat(30) }),
    fc.record({ do: fc.constant('expire' as const), now: fc.integer({ min: 1, max: 9 }) }),
  ),
  { maxLength: 200 },
);

/** The same with plain objects. */
class Model {
  readonly orders = new Map<Hex, WatchedOrder>();

  take(step: Step): void {
    if (step.do === 'add') {
      const order = orderOf(step.n, step.maker, step.token, step.due);
      if (!this.orders.has(order.orderHash)) this.orders.set(order.orderHash, order);
    } else if (step.do === 'remove') this.orders.delete(hashOf(step.n));
    else for (const [hash, order] of this.orders) if (order.expiresAtSeconds <= step.now) this.orders.delete(hash);
  }
}

function take(set: WatchedSet, step: Step): void {
  if (step.do === 'add') set.add(orderOf(step.n, step.maker, step.token, step.due), UNREAD);
  else if (step.do === 'remove') set.remove(hashOf(step.n));
  else set.expire(step.now);
}

function compare(set: WatchedSet, { orders }: Model): void {
  const open = [...orders.values()];
  const makers = new Set(open.map(({ maker }) => maker));
  const pairs = new Set(open.map(({ maker, makingToken }) => `${maker} ${makingToken}`));
  expect(set.sizes()).toEqual({ orders: open.length, pairs: pairs.size, makers: makers.size });
  expect(new Set(unreadIn(set))).toEqual(new Set(orders.keys()));
  for (let n = 0; n <= 4; n += 1) {
    const maker = accountOf(n);
    const own = open.filter((order) => order.maker === maker);
    const found = set.findMaker(maker);
    expect(new Set([...(found?.orders ?? [])].map((slot) => set.orderHash(slot)))).toEqual(
      new Set(own.map(({ orderHash }) => orderHash)),
    );
    expect(new Set(found?.pairs.keys())).toEqual(new Set(own.map(({ makingToken }) => makingToken)));
  }
}

describe('the watched set', () => {
  test('holds orders, pairs and makers as plain maps would, whatever comes and goes', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const set = new WatchedSet();
        const model = new Model();
        for (const step of inOrder(given)) {
          take(set, step);
          model.take(step);
        }
        compare(set, model);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a wallet', () => {
  test('is a maker with an order that no key has signed, whose address may be in the bloom of a block', () => {
    const set = new WatchedSet();
    set.add({ ...orderOf(1, 1), walletSignature: '0x51' }, undefined);
    set.add({ ...orderOf(2, 2), walletSignature: '0x51' }, undefined);
    set.add(orderOf(3, 3), undefined);
    const namesIn = (logsBloom: Hex | undefined) => set.walletsIn(logsBloom).map(({ address }) => address);
    expect(namesIn(undefined)).toEqual([1, 2].map(accountOf));
    expect(namesIn(`0x${'ff'.repeat(256)}`)).toEqual([1, 2].map(accountOf));
    expect(namesIn(`0x${'00'.repeat(256)}`)).toEqual([]);
    set.remove(hashOf(1));
    expect(namesIn(undefined)).toEqual([accountOf(2)]);
  });
});

describe('an order', () => {
  test('is unread until a reading names it, or where it came as one that is read', () => {
    const set = new WatchedSet();
    set.add(orderOf(1), UNREAD);
    set.add(orderOf(2), undefined);
    set.add(orderOf(3), UNREAD);
    expect(unreadIn(set)).toEqual([hashOf(1), hashOf(3)]);
    set.noteObserved(reading(1, { orders: [named(1)] }));
    expect(unreadIn(set)).toEqual([hashOf(3)]);
  });

  test('leaves within a minute of its expiry, and not before', () => {
    const set = new WatchedSet();
    set.expire(1000);
    set.add(orderOf(1, 1, 1, 1030), undefined);
    set.add(orderOf(2, 1, 1, 1061), undefined);
    set.expire(1059);
    expect(set.sizes().orders).toBe(2);
    set.expire(1060);
    expect([1, 2].map((n) => set.findOrder(hashOf(n)) >= 0)).toEqual([false, true]);
  });
});

describe('a reading', () => {
  const funds = (balance: Hex, allowance: Hex, token = 1) => [{ token: accountOf(100 + token), balance, allowance }];

  test.each<[string, boolean, Partial<MakerObserved>]>([
    ['of the same values is none', false, { nonce: '0x1', funds: funds('0x5', '0x6') }],
    ['of another balance is', true, { funds: funds('0x4', '0x6') }],
    ['of another allowance is', true, { funds: funds('0x5', '0x7') }],
    ['of another nonce is', true, { nonce: '0x2' }],
    ['that names an order is', true, { orders: [named(1)] }],
    ['of a pair that is not watched is none', false, { funds: funds('0x1', '0x1', 2) }],
  ])('%s news', (_, isNews, given) => {
    const set = new WatchedSet();
    set.add(orderOf(1), undefined);
    expect(set.isNews(reading(1, { nonce: '0x1', funds: funds('0x5', '0x6') }))).toBe(true);
    set.noteObserved(reading(1, { nonce: '0x1', funds: funds('0x5', '0x6') }));
    expect(set.isNews(reading(1, given))).toBe(isNews);
  });

  test('of a wallet’s order is news where it says something else than the newest one in the log', () => {
    const set = new WatchedSet();
    set.add({ ...orderOf(1), walletSignature: '0x51' }, undefined);
    const isNews = (order: object) => set.isNews(reading(1, { orders: [{ ...named(1), ...order }] }));
    const refused = { ...named(1), refused: true } as const;
    expect(isNews({})).toBe(true);
    set.noteObserved(reading(1, { orders: [named(1)] }));
    expect([{}, { refused: true }, { filled: '0x1' }, { cancelled: true }].map(isNews)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    set.noteObserved(reading(1, { orders: [refused] }));
    expect([{}, { refused: true }].map(isNews)).toEqual([true, false]);
  });

  test('is forgotten with the last order of the pair', () => {
    const set = new WatchedSet();
    set.add(orderOf(1), undefined);
    set.noteObserved(reading(1, { nonce: '0x1', funds: funds('0x5', '0x6') }));
    set.remove(hashOf(1));
    set.add(orderOf(2), undefined);
    expect(set.isNews(reading(1, { funds: funds('0x5', '0x6') }))).toBe(true);
    expect(set.isNews(reading(1, { nonce: '0x1' }))).toBe(true);
  });
});
