import { describe, expect, test } from '@jest/globals';
import type { MakerEvent, OrderFill, OrderSubmitted } from '@makerbook/contracts-events';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import fc from 'fast-check';
import { judge } from './judge.js';
import { advanceLog, startOfLog } from './log-clock.js';
import { type KnownFunds, type Maker, snapshotOf, type Transition, unknownMaker } from './maker.js';
import { expirySeconds, HASH_MEMORY_SECONDS } from './open-order.js';
import { type HashMemory, rememberHashes } from './remember-hashes.js';
import { type Fold, foldFacts, startFold } from './testing/fold-facts.js';
import { orderSubmitted } from './testing/order-submitted.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const tokens: Hex[] = ['b2', 'c3'].map((byte): Hex => `0x${byte.repeat(20)}`);
const hashes: Hex[] = ['11', '22', '33', '44', '55'].map((byte): Hex => `0x${byte.repeat(32)}`);
const cause = { kind: 'read', occasion: 'ORDER' } as const;
const blockAt = (number: number) => ({ number, hash: `0x${'00'.repeat(32)}` as Hex, timestamp: number });

const hash = fc.constantFrom(...hashes);
const token = fc.constantFrom(...tokens);
const amount = fc.bigInt({ min: 0n, max: 6n }).map(quantity);
const block = fc.integer({ min: 0, max: 200 }).map(blockAt);

const submitted = fc
  .record({
    orderHash: hash,
    making: token,
    amount: fc.bigInt({ min: 1n, max: 5n }),
    expiresAt: fc.integer({ min: 1, max: 220 }),
    acceptedAtMs: fc.integer({ min: 0, max: 150_000 }),
  })
  // A hash names one nonce.
  .map((terms): OrderSubmitted => {
    const number = hashes.indexOf(terms.orderHash);
    const fact = orderSubmitted({ ...terms, maker, nonce: BigInt(number % 3) });
    return number % 2 === 0 ? { ...fact, byWallet: true } : fact;
  });

const fund = fc.oneof(
  { weight: 6, arbitrary: fc.record({ token, balance: amount, allowance: amount }) },
  {
    weight: 1,
    arbitrary: token.map((one) => ({ token: one, balance: '0x0', allowance: '0x0', unread: true }) as const),
  },
);
const own = { orderHash: hash, filled: amount, cancelled: fc.constantFrom(false, false, true) };
const order = fc.oneof(
  { weight: 4, arbitrary: fc.record(own) },
  { weight: 1, arbitrary: fc.record({ ...own, refused: fc.constant(true as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ ...own, refused: fc.constant(true as const), noCode: fc.constant(true as const) }),
  },
);
const observed: fc.Arbitrary<MakerEvent> = fc
  .record({
    block,
    nonce: fc.option(fc.bigInt({ min: 0n, max: 2n }).map(quantity), { nil: undefined }),
    funds: fc.uniqueArray(fund, { maxLength: 2, selector: (one) => one.token }),
    orders: fc.uniqueArray(order, { maxLength: 3, selector: ({ orderHash }) => orderHash }),
    signaturesUnread: fc.constantFrom(undefined, undefined, undefined, true as const),
  })
  .map((reading) => ({ type: 'MakerObserved', maker, cause, ...reading }));

const capSet = fc.record({
  type: fc.constant('FillCapSet' as const),
  maker: fc.constant(maker),
  token,
  amount: fc.constantFrom('0x0' as const, '0x1' as const, '0x1' as const, '0x3' as const),
  windowSeconds: fc.integer({ min: 0, max: 40 }),
  issuedAtMs: fc.integer({ min: 0, max: 200 }),
  cause: fc.constant(cause),
});

const event: fc.Arbitrary<MakerEvent> = fc.oneof(
  { weight: 5, arbitrary: submitted },
  { weight: 8, arbitrary: observed },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('OrderCancelled' as const),
      maker: fc.constant(maker),
      orderHash: hash,
      expiresAtSeconds: fc.constant(4_000_000_000),
      cause: fc.constant(cause),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom('MakerAdmitted' as const, 'MakerSuspended' as const, 'MakerRemoved' as const),
      maker: fc.constant(maker),
      cause: fc.constant(cause),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ making: fc.option(token, { nil: undefined }), untilMs: fc.integer({ min: 0, max: 150_000 }) })
      .map(({ making, untilMs }): MakerEvent => {
        return { type: 'OrdersCancelled', maker, ...(making && { making }), untilMs, cause };
      }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('SwitchSet' as const),
      maker: fc.constant(maker),
      cancelAt: fc.integer({ min: 0, max: 200 }),
      issuedAtMs: fc.integer({ min: 0, max: 200 }),
      cause: fc.constant(cause),
    }),
  },
  { weight: 1, arbitrary: capSet },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('BlockProcessed' as const), block }) },
);

const fillOf = (orderHash: Hex, sold: bigint) => ({
  orderHash,
  taker: maker,
  makingAmount: quantity(sold),
  takingAmount: '0x1' as const,
  transactionHash: orderHash,
});

/**
 * Two orders of one token with funds, filled bit by bit while caps are set and other things happen. Others are filled
 * though they are not open. Some fills are reported more than once.
 */
const filling = fc
  .array(fc.tuple(fc.constantFrom('fill', 'fill', 'block', 'cap', 'other'), fc.nat(9), capSet, event), {
    minLength: 15,
    maxLength: 60,
  })
  .map((steps) => {
    const filled = new Map<Hex, bigint>([hashes[0], hashes[3]].map((orderHash) => [orderHash as Hex, 0n]));
    const making = tokens[0] as Hex;
    let number = 1;
    const told: OrderFill[] = [];
    const read = (fills: OrderFill[] = []): MakerEvent => ({
      type: 'MakerObserved',
      maker,
      cause,
      block: blockAt(number),
      nonce: '0x0',
      funds: [{ token: making, balance: '0xff', allowance: '0xff' }],
      orders: [...filled].map(([orderHash, sum]) => ({ orderHash, filled: quantity(sum), cancelled: false })),
      fills,
    });
    const opened = [...filled.keys()].map((orderHash) =>
      orderSubmitted({ orderHash, maker, making, amount: 60n, expiresAt: 900, acceptedAtMs: 0 }),
    );
    const first = read();
    const happened = steps.map(([what, some, cap, other]): MakerEvent => {
      if (what === 'cap') return { ...cap, token: making };
      if (what === 'other') return other;
      if (what === 'block') number += 1 + some;
      if (what === 'block') return { type: 'BlockProcessed', block: blockAt(number) };
      const orderHash = hashes[some % 4] as Hex;
      const sold = 1n + BigInt(some % 3);
      // The other hashes have no open order here, unless something else opens it.
      if (filled.has(orderHash)) filled.set(orderHash, (filled.get(orderHash) ?? 0n) + sold);
      const place = { blockNumber: number, timestamp: blockAt(number).timestamp - (some % 2), logIndex: told.length };
      told.push({ ...fillOf(orderHash, sold), ...place, makingToken: making });
      return read(told.slice(some % 5 === 0 ? -3 : -1));
    });
    return [...opened, first, ...happened];
  });

/** Orders of one token, each of which the funds could fill. The funds change, and the orders come and go. */
const sharing = fc
  .array(fc.tuple(fc.constantFrom('place', 'read', 'cancel'), hash), { maxLength: 25 })
  .map((steps) => {
    const making = tokens[0] as Hex;
    return steps.map(([what, orderHash], number): MakerEvent => {
      const terms = { orderHash, maker, making, amount: 1n, expiresAt: 900, acceptedAtMs: 0 };
      if (what === 'place') return orderSubmitted(terms);
      if (what === 'cancel') return { type: 'OrderCancelled', maker, orderHash, expiresAtSeconds: 900, cause };
      const funds = [{ token: making, balance: quantity(BigInt(5 + number)), allowance: '0xff' as const }];
      const orders = hashes.map((one) => ({ orderHash: one, filled: '0x0' as const, cancelled: false }));
      return { type: 'MakerObserved', maker, cause, block: blockAt(200 + number), nonce: '0x0', funds, orders };
    });
  })
  .map((events): MakerEvent[] => [{ type: 'MakerAdmitted', maker, cause }, ...events]);

const stream = fc.oneof(
  { weight: 3, arbitrary: fc.array(event, { maxLength: 60 }) },
  { weight: 1, arbitrary: filling },
  { weight: 1, arbitrary: sharing },
);
const runs = { numRuns: 500 };

function fold(events: readonly MakerEvent[]) {
  const current = startFold(unknownMaker(maker));
  const transitions = foldFacts(current, events);
  return { maker: snapshotOf(current.draft), transitions, clock: current.clock };
}

/** A hash names one expiry. */
const expiryOf = (orderHash: Hex) => 20_000 * (1 + hashes.indexOf(orderHash));

/** The same facts with blocks of half an hour, so that days pass. */
function overDays(fact: MakerEvent): MakerEvent {
  const slow = ({ number, ...block }: ReturnType<typeof blockAt>) => ({ ...block, number, timestamp: number * 2_000 });
  if (fact.type === 'BlockProcessed' || fact.type === 'MakerObserved') return { ...fact, block: slow(fact.block) };
  if (fact.type === 'OrderCancelled') return { ...fact, expiresAtSeconds: expiryOf(fact.orderHash) };
  if (fact.type !== 'OrderSubmitted') return fact;
  return { ...fact, order: { ...fact.order, expiresAt: quantity(BigInt(expiryOf(fact.orderHash))) } };
}

/** A memory that has forgotten all that may be forgotten, as pruned rows have. */
function forgetful(fold: () => Fold): HashMemory {
  const memory = rememberHashes();
  return {
    ...memory,
    recallHash: (key) => {
      const hash = memory.recallHash(key);
      const { clock, draft } = fold();
      if (hash === undefined || clock.seconds >= hash.expiresAtSeconds + HASH_MEMORY_SECONDS) return undefined;
      const isPassed = hash.nonce !== undefined && draft.nonce !== undefined && hash.nonce < draft.nonce.value;
      return isPassed && clock.seconds >= hash.keptUntilSeconds ? undefined : hash;
    },
  };
}

/** Hashes of orders that come after their nonce was passed. Each time they come, they are removed at once. */
function passedAtOnce(transitions: readonly Transition[]): ReadonlySet<Hex> {
  return new Set(
    transitions.flatMap((one) => {
      const isPassed = one.kind === 'OrderRemoved' && one.reason === 'NONCE_CHANGED';
      return isPassed && one.offset === one.order.acceptedOffset ? one.order.orderHash : [];
    }),
  );
}

describe('for any stream of facts', () => {
  test('every open order has something left to fill, a funding entry, and the state that nonce and funds imply', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const { maker: state } = fold(events);
        for (const order of state.orders.values()) {
          const funding = state.funding.get(order.order.making.token);
          expect(order.state).toEqual(judge(order, state.nonce?.value, funding?.known));
          expect(order.remaining > 0n && order.remaining <= order.order.making.amount).toBe(true);
          expect(state.nonce === undefined || order.order.nonce >= state.nonce.value).toBe(true);
        }
        for (const [soldToken, { openOrders }] of state.funding) {
          const selling = [...state.orders.values()].filter(({ order }) => order.making.token === soldToken);
          expect(openOrders).toBe(selling.length);
          expect(openOrders).toBeGreaterThan(0);
        }
      }),
      runs,
    );
  });

  test('an order is ACTIVE or INACTIVE only after a valid reading of it that no later one refuses', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const { transitions } = fold(events);
        const tokenOf = new Map<Hex, Hex>();
        const byWallet = new Set<Hex>();
        const read = new Set<Hex>();
        /** For an order that was refused or whose signature was unread, a reading without a refusal is enough. */
        const wasRead = new Set<Hex>();
        const unread = new Set<Hex>();
        const knownAt = new Map<Hex, number>();
        let clock = startOfLog;
        for (const [index, fact] of events.entries()) {
          if (fact.type === 'OrderSubmitted' && !tokenOf.has(fact.orderHash)) {
            tokenOf.set(fact.orderHash, fact.order.making.token);
            if (fact.byWallet) byWallet.add(fact.orderHash);
          }
          const isRead = (orderHash: Hex) => read.has(orderHash) && !unread.has(tokenOf.get(orderHash) ?? '0x');
          const before = new Set([...read].filter(isRead));
          if (fact.type === 'MakerObserved' && fact.block.number >= clock.block) {
            if (fact.signaturesUnread) for (const orderHash of byWallet) read.delete(orderHash);
            for (const one of fact.funds) {
              // Newer funds stay known.
              if ((knownAt.get(one.token) ?? -1) > fact.block.number) continue;
              unread[one.unread ? 'add' : 'delete'](one.token);
              knownAt.set(one.token, one.unread ? -1 : fact.block.number);
            }
            for (const { orderHash, refused } of fact.orders) {
              const isFunded = fact.funds.some((funds) => funds.token === tokenOf.get(orderHash));
              if (isFunded && fact.nonce !== undefined) wasRead.add(orderHash);
              if (refused) read.delete(orderHash);
              else if (wasRead.has(orderHash)) read.add(orderHash);
            }
          }
          if (fact.type === 'BlockProcessed') clock = advanceLog(clock, fact);
          for (const transition of transitions.filter(({ offset }) => offset === BigInt(index))) {
            if (!('order' in transition) || transition.order.state.status === 'VALIDATING') continue;
            // A removed order has the state it had before.
            const { orderHash } = transition.order;
            const isGone = transition.kind === 'OrderRemoved' && before.has(orderHash);
            expect(isGone || isRead(orderHash)).toBe(true);
          }
        }
      }),
      runs,
    );
  });

  test('no expired order is open, and the book has exactly the orders that a router may fill', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const { maker: state, clock, transitions } = fold(events);
        const isBarred = state.admission === 'SUSPENDED' || state.admission === 'REMOVED';
        const book = bookOf(transitions);
        for (const order of state.orders.values()) {
          expect(expirySeconds(order)).toBeGreaterThan(clock.seconds);
          const isRoutable = !isBarred && order.cappedUntil === 0 && expirySeconds(order) - 60 > clock.seconds;
          // An order that was read may wait again, and readers are told so.
          const isIn = order.state.status === 'VALIDATING' ? isRoutable && order.inBook : isRoutable;
          expect(order.inBook).toBe(isIn);
          // A reader of the messages has the order in its present state.
          expect(book.get(order.orderHash)).toEqual(order.inBook ? [order.state, order.remaining] : undefined);
        }
        expect([...book.keys()].filter((orderHash) => !state.orders.has(orderHash))).toEqual([]);
      }),
      runs,
    );
  });

  test('an order is capped exactly while the fills of its token in a window exceed the newest cap', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const current = startFold(unknownMaker(maker));
        const caps = new Map<Hex, Extract<MakerEvent, { type: 'FillCapSet' }>>();
        const fills = new Map<Hex, { readonly amount: bigint; readonly seconds: number }[]>();
        /** The newest counted fill of each token, or the place after which its cap begins to count. */
        const counted = new Map<Hex, readonly [block: number, logIndex: number]>();
        for (const fact of events) {
          const { block } = current.clock;
          const tokenOf = new Map(
            [...current.draft.orders.values()].map((one) => [one.orderHash, one.order.making.token]),
          );
          const transitions = foldFacts(current, [fact]);
          for (const one of transitions)
            if (one.kind === 'OrderWithheld') expect(one.reason === 'CAPPED').toBe(one.order.cappedUntil > 0);
          if (fact.type === 'FillCapSet' && fact.issuedAtMs > (caps.get(fact.token)?.issuedAtMs ?? -1)) {
            caps.set(fact.token, fact);
            fills.set(fact.token, []);
            counted.set(fact.token, [block, Number.POSITIVE_INFINITY]);
          }
          if (fact.type === 'MakerObserved' && fact.block.number >= block) {
            for (const { orderHash, makingToken, makingAmount, timestamp, blockNumber, logIndex } of fact.fills ?? []) {
              const sold = tokenOf.get(orderHash) ?? makingToken;
              const cap = sold && caps.get(sold);
              const [lastBlock = -1, lastLog = -1] = (sold && counted.get(sold)) ?? [];
              const isNew = blockNumber > lastBlock || (blockNumber === lastBlock && logIndex > lastLog);
              if (cap === undefined || cap.windowSeconds === 0 || cap.amount === '0x0' || !isNew) continue;
              counted.set(cap.token, [blockNumber, logIndex]);
              fills.get(cap.token)?.push({ amount: BigInt(makingAmount), seconds: timestamp ?? 0 });
            }
          }
          for (const { order, cappedUntil } of current.draft.orders.values()) {
            const { token: sold } = order.making;
            expect(cappedUntil).toBe(cappedBy(caps.get(sold), fills.get(sold) ?? [], current.clock.seconds));
          }
        }
      }),
      runs,
    );
  });

  test('remembering a hash longer than necessary makes no difference', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const facts = events.map(overDays);
        const remembers = startFold(unknownMaker(maker));
        const forgets: Fold = startFold(
          unknownMaker(maker),
          forgetful(() => forgets),
        );
        const transitions = foldFacts(remembers, facts);
        expect(foldFacts(forgets, facts)).toEqual(transitions);
      }),
      runs,
    );
  });

  test('suspending and readmitting a maker makes no difference to any order in the end', () => {
    const decisions = fc.constantFrom('MakerSuspended' as const, 'MakerRemoved' as const);
    fc.assert(
      fc.property(stream, stream, decisions, (before, meanwhile, type) => {
        const isOther = ({ type: one }: MakerEvent) =>
          !['MakerAdmitted', 'MakerSuspended', 'MakerRemoved'].includes(one);
        const [first, second] = [before.filter(isOther), meanwhile.filter(isOther)];
        const admitted: MakerEvent = { type: 'MakerAdmitted', maker, cause };
        const away = fold([admitted, ...first, { type, maker, cause }, ...second, admitted]).maker;
        const always = fold([admitted, ...first, admitted, ...second, admitted]).maker;
        const ended = (state: Maker) => {
          // A waiting order comes back once it is read.
          const orders = [...state.orders.values()].map((order) =>
            order.state.status === 'VALIDATING' ? { ...order, inBook: false } : order,
          );
          // All orders come back with the newest funds.
          const funding = [...state.funding].map(([token, one]) => [token, { ...one, teller: undefined }]);
          // It is only a lower bound.
          return { ...state, orders, funding, dueAtSeconds: 0 };
        };
        expect(ended(away)).toEqual(ended(always));
      }),
      runs,
    );
  });

  test('the clock changes nothing before the second at which the maker is due', () => {
    fc.assert(
      fc.property(stream, fc.nat(250), (events, seconds) => {
        const before = fold(events).maker;
        const current = startFold(before, rememberHashes());
        const transitions = current.draft.advance({ block: 999, seconds }, 99n);
        if (seconds < before.dueAtSeconds) expect(transitions).toEqual([]);
        expect(current.draft.dueAtSeconds).toBeGreaterThan(seconds);
      }),
      runs,
    );
  });

  test('every fact may come twice in a row: the second changes nothing', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const once = fold(events).transitions;
        const twice = fold(events.flatMap((fact) => [fact, fact])).transitions;
        const passed = passedAtOnce(once);
        const seen = (transitions: readonly Transition[]) =>
          transitions.filter((one) => !('order' in one) || !passed.has(one.order.orderHash)).map(withoutOffsets);
        expect(seen(twice)).toEqual(seen(once));
      }),
      runs,
    );
  });

  test('a change names its cause, and differs from the state before', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const last = new Map<Hex, string>();
        for (const transition of fold(events).transitions) {
          if (transition.kind === 'OrderWithheld') last.delete(transition.order.orderHash);
          if (transition.kind !== 'OrderOpened' && transition.kind !== 'OrderChanged') continue;
          const { orderHash, state, remaining, cappedUntil } = transition.order;
          const now = JSON.stringify([state, String(remaining), transition.order.inBook, cappedUntil]);
          if (transition.kind === 'OrderChanged') {
            expect(transition.causes.length).toBeGreaterThan(0);
            expect(last.get(orderHash)).not.toBe(now);
          }
          last.set(orderHash, now);
        }
      }),
      runs,
    );
  });

  test('the newest records in the book state the funds by which the orders of each token are judged', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const { maker: state, transitions } = fold(events);
        const told = new Map<Hex, KnownFunds | undefined>();
        for (const one of transitions) {
          if (one.kind === 'OrderWithheld' || one.kind === 'OrderRemoved') told.delete(one.order.orderHash);
          else if ('funding' in one && one.order.inBook)
            told.set(one.order.orderHash, one.order.state.status === 'VALIDATING' ? undefined : one.funding.known);
        }
        const inBook = [...state.orders.values()].filter((one) => one.inBook && one.state.status !== 'VALIDATING');
        for (const [token, orders] of Map.groupBy(inBook, ({ order }) => order.making.token)) {
          const records = orders.flatMap(({ orderHash }) => told.get(orderHash) ?? []);
          const newest = records.sort((one, other) => other.block - one.block)[0];
          const { balance, allowance } = state.funding.get(token)?.known ?? {};
          expect(newest).toMatchObject({ balance, allowance });
        }
      }),
      runs,
    );
  });

  test('the list stays the same while its version does', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const current = startFold(unknownMaker(maker));
        const listed = () =>
          JSON.stringify(
            [...current.draft.orders.values()].map(({ orderHash, state, remaining, cappedUntil }) => [
              orderHash,
              state,
              String(remaining),
              cappedUntil,
            ]),
          );
        for (const [index, fact] of events.entries()) {
          const before = listed();
          foldFacts(current, [fact]);
          if (listed() !== before) expect(current.draft.listVersion).toBe(BigInt(index));
        }
      }),
      runs,
    );
  });

  test('the maker that a draft was made from is not changed', () => {
    fc.assert(
      fc.property(stream, stream, (before, events) => {
        const { maker: state } = fold(before);
        const copy = structuredClone(state);
        foldFacts(startFold(state), events);
        expect(state).toEqual(copy);
      }),
    );
  });
});

/** When a cap stops withholding orders, by all fills since it was set. A fill after a window begins the next. */
function cappedBy(
  cap: Extract<MakerEvent, { type: 'FillCapSet' }> | undefined,
  fills: readonly { readonly amount: bigint; readonly seconds: number }[],
  nowSeconds: number,
): number {
  if (cap === undefined || cap.windowSeconds === 0 || cap.amount === '0x0') return 0;
  let [end, sum] = [0, 0n];
  for (const { amount, seconds } of fills) {
    if (seconds >= end) [end, sum] = [seconds + cap.windowSeconds, 0n];
    sum += amount;
  }
  return sum > BigInt(cap.amount) && nowSeconds < end ? end : 0;
}

/** The book that a reader of the router's feed has. */
function bookOf(transitions: readonly Transition[]): ReadonlyMap<Hex, unknown> {
  const book = new Map<Hex, unknown>();
  for (const transition of transitions) {
    if (!('order' in transition)) continue;
    const { orderHash, state, remaining, inBook } = transition.order;
    if (transition.kind === 'OrderChanged' && inBook) {
      if (!book.has(orderHash)) expect(state.status).not.toBe('VALIDATING');
      book.set(orderHash, [state, remaining]);
    } else if (transition.kind === 'OrderWithheld' || transition.kind === 'OrderRemoved') book.delete(orderHash);
  }
  return book;
}

function withoutOffsets({ offset: _, ...change }: Transition): unknown {
  if (!('order' in change)) return change;
  const { acceptedOffset: __, ...order } = change.order;
  return { ...change, order };
}
