import { describe, expect, test } from '@jest/globals';
import type { MakerObserved } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import fc from 'fast-check';
import type { UnreadOrder, WatchedOrder } from './watched-maker.js';
import { WatchedSet } from './watched-set.js';

const accountOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;
const hashOf = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const UNREAD: UnreadOrder = { sinceMs: 0, trace: undefined };
const orderOf = (n: number, maker = 1, token = 1, expiresAtSeconds = 100): WatchedOrder => ({
  orderHash: hashOf(n),
  maker: accountOf(maker),
  makingToken: accountOf(100 + token),
  takingToken: accountOf(200 + token),
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
const pauseNever = async () => undefined;
const unreadIn = (set: WatchedSet) => [...set.unread.keys()].map((slot) => set.orderHash(slot));

type Step =
  | { readonly do: 'add'; readonly n: number; readonly maker: number; readonly token: number; readonly due: number }
  | { readonly do: 'remove'; readonly n: number }
  | { readonly do: 'expire'; readonly now: number };

/** Puts each time a minute or more after the one before, because nothing expires within a minute. */
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

/** The model: the watched orders in a plain map. */
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
  test('is a maker with an order that no key has signed, and is found by the bloom of a block', () => {
    const set = new WatchedSet();
    set.add({ ...orderOf(1, 1), walletSignature: '0x51' }, undefined);
    set.add({ ...orderOf(2, 2), walletSignature: '0x51' }, undefined);
    set.add(orderOf(3, 3), undefined);
    const namesIn = (logsBloom: Hex | undefined) => set.wallets.withLogsIn(logsBloom).map(({ address }) => address);
    expect(namesIn(undefined)).toEqual([1, 2].map(accountOf));
    expect(namesIn(`0x${'ff'.repeat(256)}`)).toEqual([1, 2].map(accountOf));
    expect(namesIn(`0x${'00'.repeat(256)}`)).toEqual([]);
    set.remove(hashOf(1));
    expect(namesIn(undefined)).toEqual([accountOf(2)]);
  });
});

describe('an order of a wallet', () => {
  const wallet = (n: number, maker = 1) => ({ ...orderOf(n, maker), walletSignature: '0x51' }) as const;
  const block = (number: number) => ({ number, hash: hashOf(number), timestamp: number });
  /** Asks the next wallet, and has it answer at a block. */
  const answer = (set: WatchedSet, at: number, isAccepted = true) => {
    const asked = set.wallets.takeUnasked(1);
    for (const each of asked) set.wallets.note(each, isAccepted, at, 9);
    return asked.map(({ order }) => set.orderHash(order));
  };

  test('is read only once its wallet has answered, and keeps its age', () => {
    const set = new WatchedSet();
    set.add(wallet(1), { ...UNREAD, sinceMs: 5 });
    expect([set.wallets.hasUnasked(), unreadIn(set)]).toEqual([true, []]);
    expect(answer(set, 1)).toEqual([hashOf(1)]);
    expect([set.wallets.hasUnasked(), [...set.unread.values()]]).toEqual([false, [{ ...UNREAD, sinceMs: 5 }]]);
  });

  test('is asked about again after its wallet has changed, and earlier answers do not count', () => {
    const set = new WatchedSet();
    set.add(wallet(1), undefined);
    const [asked] = [...set.wallets.answered()];
    const maker = set.findMaker(accountOf(1));
    if (asked === undefined || maker === undefined) throw new Error('the order is watched');
    set.wallets.forget(maker, 7, 3);
    set.wallets.note(asked, true, 6, 9);
    set.noteObserved(reading(1, { orders: [named(1)], block: block(6) }), 9);
    expect([set.wallets.unasked(), unreadIn(set)]).toEqual([{ orders: 1, sinceMs: 3 }, []]);
    answer(set, 7);
    expect(unreadIn(set)).toEqual([hashOf(1)]);
    // A reading from before the change comes late.
    set.noteObserved(reading(1, { orders: [named(1)], block: block(6) }), 9);
    expect(unreadIn(set)).toEqual([hashOf(1)]);
    set.noteObserved(reading(1, { orders: [named(1)], block: block(7) }), 9);
    expect(unreadIn(set)).toEqual([]);
  });

  test('gets its wallet’s answer from the log if another watcher has asked', () => {
    const set = new WatchedSet();
    set.add(wallet(1), UNREAD);
    set.noteObserved(reading(1, { orders: [{ ...named(1), refused: true }] }), 0);
    expect([...set.wallets.answered()].map(({ own }) => own.isAccepted)).toEqual([false]);
    expect(set.wallets.hasUnasked()).toBe(false);
    set.noteObserved(reading(1, { signaturesUnread: true, block: block(2) }), 4);
    expect([[...set.wallets.answered()], set.wallets.unasked()]).toEqual([[], { orders: 1, sinceMs: 4 }]);
  });

  test('is read again if its wallet’s answer differs from the log, and not if it is the same', () => {
    const set = new WatchedSet();
    set.add(wallet(1), undefined);
    const [asked] = [...set.wallets.answered()];
    if (asked === undefined) throw new Error('the order is watched');
    set.wallets.note(asked, true, 1, 9);
    expect(unreadIn(set)).toEqual([]);
    set.wallets.note(asked, false, 1, 9);
    expect([...set.unread.values()]).toEqual([{ ...UNREAD, sinceMs: 9 }]);
    // A wallet's answer is no news for an order that waits for something else.
    set.noteObserved(reading(1, { orders: [{ ...named(1), refused: true, noCode: true }] }), 0);
    set.wallets.note(asked, false, 1, 9);
    expect(unreadIn(set)).toEqual([]);
  });

  test('has the state from the log after a take-over, whatever the watcher knew before', () => {
    const set = new WatchedSet();
    for (const n of [1, 2]) set.add(wallet(n), undefined);
    const maker = set.findMaker(accountOf(1));
    if (maker === undefined) throw new Error('the orders are watched');
    set.wallets.forget(maker, 9, 3);
    set.noteObserved(reading(1, { orders: [{ ...named(2), refused: true }], block: block(8) }), 4);
    set.takeAnswersFromLog(5);
    expect([...set.wallets.answered()].map(({ own }) => own.isAccepted)).toEqual([true, false]);
    set.noteObserved(reading(1, { signaturesUnread: true, block: block(9) }), 6);
    set.takeAnswersFromLog(7);
    expect([[...set.wallets.answered()], set.wallets.unasked().orders]).toEqual([[], 2]);
  });

  test('is asked about again after a quarantine: earlier answers do not count', () => {
    const set = new WatchedSet();
    set.add(wallet(1), undefined);
    set.add(orderOf(2, 1), undefined);
    set.markUnread(accountOf(1), { ...UNREAD, sinceMs: 6 });
    expect([set.wallets.unasked(), unreadIn(set)]).toEqual([{ orders: 1, sinceMs: 6 }, [hashOf(2)]]);
    set.takeAnswersFromLog(7);
    expect(set.wallets.unasked().orders).toBe(1);
    answer(set, 1, false);
    expect(unreadIn(set).sort()).toEqual([hashOf(1), hashOf(2)]);
  });

  test('waits for no other wallet, however many orders that one has', () => {
    const set = new WatchedSet();
    for (let n = 1; n <= 5; n += 1) set.add(wallet(n, 1), UNREAD);
    set.add(wallet(9, 2), UNREAD);
    expect([answer(set, 1), answer(set, 1), answer(set, 1)]).toEqual([[hashOf(1)], [hashOf(9)], [hashOf(2)]]);
    set.remove(hashOf(3));
    expect([answer(set, 1), answer(set, 1), answer(set, 1)]).toEqual([[hashOf(4)], [hashOf(5)], []]);
  });
});

test('a token is shared while at least ten makers sell it', () => {
  const set = new WatchedSet();
  for (let n = 1; n <= 10; n += 1) {
    expect(set.isShared(accountOf(101))).toBe(false);
    set.add(orderOf(n, n), undefined);
  }
  set.add(orderOf(11, 1), undefined);
  expect(set.isShared(accountOf(101))).toBe(true);
  set.remove(hashOf(1));
  expect(set.isShared(accountOf(101))).toBe(true);
  set.remove(hashOf(2));
  expect(set.isShared(accountOf(101))).toBe(false);
});

test('orders that take a token are read again once it has code, except those that have left', () => {
  const set = new WatchedSet();
  for (const n of [1, 2, 3]) set.add(orderOf(n, 1, n === 3 ? 2 : 1), undefined);
  const [token] = set.takingTokens();
  if (token === undefined) throw new Error('it is taken');
  set.remove(hashOf(1));
  set.markTaking(token, UNREAD);
  expect(unreadIn(set)).toEqual([hashOf(2)]);
  // A reading from before the token had code comes late.
  token.hasCode = true;
  set.noteObserved(reading(1, { orders: [{ ...named(2), refused: true, noCode: true }] }), 0);
  expect(unreadIn(set)).toEqual([hashOf(2)]);
  set.noteObserved(reading(1, { orders: [named(2)] }), 0);
  expect(unreadIn(set)).toEqual([]);
  // Another watcher did not know yet that the token has code.
  set.noteObserved(reading(1, { orders: [{ ...named(2), refused: true, noCode: true }] }), 0);
  expect(unreadIn(set)).toEqual([hashOf(2)]);
  set.remove(hashOf(2));
  expect([...set.takingTokens()].map(({ address }) => address)).toEqual([accountOf(202)]);
});

test('a watcher that takes over asks again for known code, because it may start at an older block', () => {
  const set = new WatchedSet();
  for (const n of [1, 2]) set.add(orderOf(n, 1, n), undefined);
  const [found, lacking] = set.takingTokens();
  Object.assign(found ?? {}, { hasCode: true, sweptAt: 10 });
  Object.assign(lacking ?? {}, { hasCode: false, sweptAt: 10 });
  set.takeAnswersFromLog(5);
  expect([...set.takingTokens()].map(({ hasCode, sweptAt }) => [hasCode, sweptAt])).toEqual([
    [undefined, -1],
    [false, 10],
  ]);
});

describe('an order', () => {
  test('is unread until a reading names it, unless it came as already read', () => {
    const set = new WatchedSet();
    set.add(orderOf(1), UNREAD);
    set.add(orderOf(2), undefined);
    set.add(orderOf(3), UNREAD);
    expect(unreadIn(set)).toEqual([hashOf(1), hashOf(3)]);
    set.noteObserved(reading(1, { orders: [named(1)] }), 0);
    expect(unreadIn(set)).toEqual([hashOf(3)]);
  });

  test('leaves within a minute after its expiry, and not before', () => {
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
    set.noteObserved(reading(1, { nonce: '0x1', funds: funds('0x5', '0x6') }), 0);
    expect(set.isNews(reading(1, given))).toBe(isNews);
  });

  test('of funds that were put off is news once, and so are the values that follow', () => {
    const set = new WatchedSet();
    set.add(orderOf(1), undefined);
    const unread = [{ token: accountOf(101), balance: '0x0', allowance: '0x0', unread: true }] as const;
    expect(set.isNews(reading(1, { funds: [...unread] }))).toBe(true);
    set.noteObserved(reading(1, { funds: [...unread] }), 7);
    expect([...set.putOff.values()]).toEqual([7]);
    expect(set.isNews(reading(1, { funds: [...unread] }))).toBe(false);
    expect(set.isNews(reading(1, { funds: funds('0x0', '0x0') }))).toBe(true);
    set.noteObserved(reading(1, { funds: funds('0x0', '0x0') }), 8);
    expect(set.putOff.size).toBe(0);
  });

  test('is forgotten with the last order of the pair', () => {
    const set = new WatchedSet();
    set.add(orderOf(1), undefined);
    set.noteObserved(reading(1, { nonce: '0x1', funds: funds('0x5', '0x6') }), 0);
    set.remove(hashOf(1));
    set.add(orderOf(2), undefined);
    expect(set.isNews(reading(1, { funds: funds('0x5', '0x6') }))).toBe(true);
    expect(set.isNews(reading(1, { nonce: '0x1' }))).toBe(true);
  });
});

test('an order that a failover has lost from the rows gets its offset from the log', async () => {
  const set = new WatchedSet();
  set.add(orderOf(1));
  set.add(orderOf(1), UNREAD, 7n);
  set.add(orderOf(2));
  await set.retain((_order, _maker, offset) => offset === 7n, pauseNever);
  expect([1, 2].map((n) => set.findOrder(hashOf(n)) >= 0)).toEqual([true, false]);
});

test('orders are dropped in steps, and others may leave in between', async () => {
  const set = new WatchedSet();
  for (let n = 0; n < 25_000; n += 1) set.add(orderOf(n));
  let pauses = 0;
  await set.retain(
    (order) => order % 2 === 0,
    async () => {
      pauses += 1;
      // Remove the order that is looked at next.
      set.remove(hashOf(10_000 * pauses - 1));
    },
  );
  expect([pauses, set.sizes().orders]).toEqual([2, 12_500]);
});
