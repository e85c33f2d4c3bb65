import { describe, expect, test } from '@jest/globals';
import type { Hex, MakerEvent } from '@makerbook/contracts-events';
import fc from 'fast-check';
import { evolve, expirySeconds, type Placed, type Rules, type Transition } from './evolve.js';
import { judge } from './judge.js';
import { type Maker, unknownMaker } from './maker.js';
import { quantity, zeroAddress } from './order.js';
import { rememberHashes } from './remember-hashes.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const tokens: Hex[] = ['b2', 'c3'].map((byte): Hex => `0x${byte.repeat(20)}`);
const hashes: Hex[] = ['11', '22', '33', '44', '55'].map((byte): Hex => `0x${byte.repeat(32)}`);
const cause = { kind: 'read', occasion: 'ORDER' } as const;
const blockAt = (number: number) => ({ number, hash: `0x${'00'.repeat(32)}` as Hex, timestamp: number });

const hash = fc.constantFrom(...hashes);
const token = fc.constantFrom(...tokens);
const amount = fc.bigInt({ min: 0n, max: 6n }).map(quantity);
const hasMore = fc.constantFrom(true as const, undefined, undefined, undefined);
const block = fc.integer({ min: 0, max: 200 }).map(blockAt);

const submitted = fc
  .record({
    orderHash: hash,
    token,
    amount: fc.bigInt({ min: 1n, max: 5n }),
    nonce: fc.bigInt({ min: 0n, max: 2n }),
    expiresAt: fc.bigInt({ min: 1n, max: 220n }),
    acceptedAtMs: fc.integer({ min: 0, max: 150_000 }),
  })
  .map(
    (order): MakerEvent => ({
      type: 'OrderSubmitted',
      maker,
      orderHash: order.orderHash,
      order: {
        salt: '0x0',
        nonce: quantity(order.nonce),
        expiresAt: quantity(order.expiresAt),
        making: { token: order.token, amount: quantity(order.amount) },
        taking: { token: zeroAddress, amount: '0x1' },
        maker,
        permittedTaker: zeroAddress,
      },
      signature: `0x${'00'.repeat(65)}`,
      acceptedAtMs: order.acceptedAtMs,
      cause,
    }),
  );

const event: fc.Arbitrary<MakerEvent> = fc.oneof(
  { weight: 5, arbitrary: submitted },
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
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('OrderCancelledOnChain' as const),
      maker: fc.constant(maker),
      orderHash: hash,
      block,
      cause: fc.constant(cause),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('OrderFilled' as const),
      maker: fc.constant(maker),
      orderHash: hash,
      filledMakingAmount: amount,
      block,
      cause: fc.constant(cause),
      hasMore,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('BalanceChanged' as const),
      maker: fc.constant(maker),
      token,
      balance: amount,
      block,
      cause: fc.constant(cause),
      hasMore,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('AllowanceChanged' as const),
      maker: fc.constant(maker),
      token,
      allowance: amount,
      block,
      cause: fc.constant(cause),
      hasMore,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('NonceChanged' as const),
      maker: fc.constant(maker),
      nonce: fc.bigInt({ min: 0n, max: 2n }).map(quantity),
      block,
      cause: fc.constant(cause),
      hasMore,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('BlockProcessed' as const),
      block,
      knownOffset: fc.option(fc.nat(60).map(String), { nil: undefined }),
    }),
  },
);

type Read = Extract<MakerEvent, { type: 'OrderFilled' | 'NonceChanged' | 'BalanceChanged' | 'AllowanceChanged' }>;
const isRead = (fact: MakerEvent): fact is Read => 'hasMore' in fact;

const stream = fc.array(event, { maxLength: 60 });

interface Folded {
  maker: Maker;
  transitions: Transition[];
}

/** Folds a stream, cut into calls at the given places. What was removed in earlier calls is remembered as a store would. */
function fold(events: readonly MakerEvent[], cuts: ReadonlySet<number> = new Set()): Folded {
  const hashes = rememberHashes();
  const rules: Rules = { routingGraceSeconds: 60, ...hashes };
  const folded: Folded = { maker: unknownMaker(maker), transitions: [] };
  let stretch: Placed<MakerEvent>[] = [];
  let clockSeconds = 0;
  let processedBlock = -1;
  const flush = () => {
    const { maker: next, transitions } = evolve(folded.maker, stretch, rules);
    hashes.note(transitions);
    folded.maker = next;
    folded.transitions.push(...transitions);
    stretch = [];
  };
  for (const [index, fact] of events.entries()) {
    if (cuts.has(index)) flush();
    stretch.push({ fact, offset: BigInt(index), clockSeconds, processedBlock });
    if (fact.type !== 'BlockProcessed') continue;
    clockSeconds = Math.max(clockSeconds, fact.block.timestamp);
    processedBlock = Math.max(processedBlock, fact.block.number);
  }
  flush();
  return folded;
}

const clockOf = (events: readonly MakerEvent[]) =>
  Math.max(0, ...events.map((fact) => (fact.type === 'BlockProcessed' ? fact.block.timestamp : 0)));

describe('for any stream of facts', () => {
  test('it makes no difference in how many calls it is folded', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(60)), (events, cuts) => {
        const whole = fold(events);
        const cut = fold(events, new Set(cuts));
        expect(cut.transitions).toEqual(whole.transitions);
        const comparable = ({ dueAtSeconds: _, ...rest }: Maker) => rest;
        expect(comparable(cut.maker)).toEqual(comparable(whole.maker));
      }),
      { numRuns: 500 },
    );
  });

  test('every open order has the state that nonce and funds say, something left to fill, and its token’s funding entry', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const { maker: state } = fold(events);
        const nonce = state.nonceIsWatched ? state.nonce?.value : undefined;
        const isWhole = events.findLast(isRead)?.hasMore !== true;
        for (const order of state.orders.values()) {
          const funding = state.funding.get(order.order.making.token);
          if (isWhole) expect(order.state).toEqual(judge(order, nonce, funding));
          expect(order.remaining > 0n && order.remaining <= order.order.making.amount).toBe(true);
          expect(state.nonce === undefined || order.order.nonce >= state.nonce.value).toBe(true);
        }
        for (const [soldToken, { openOrders }] of state.funding) {
          const selling = [...state.orders.values()].filter(({ order }) => order.making.token === soldToken);
          expect(openOrders).toBe(selling.length);
          expect(openOrders).toBeGreaterThan(0);
        }
        if (state.orders.size === 0) expect(state.nonceIsWatched).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test('an order is ACTIVE or INACTIVE only after a look at it that was not older than the last processed block', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const looked = new Set<Hex>();
        const opened = new Set<Hex>();
        let processed = -1;
        const { transitions } = fold(events);
        for (const [index, fact] of events.entries()) {
          if (fact.type === 'BlockProcessed') processed = Math.max(processed, fact.block.number);
          if (fact.type === 'OrderFilled' && opened.has(fact.orderHash) && fact.block.number >= processed) {
            looked.add(fact.orderHash);
          }
          for (const transition of transitions.filter(({ offset }) => offset === BigInt(index))) {
            if (!('order' in transition)) continue;
            const { orderHash, state } = transition.order;
            opened.add(orderHash);
            if (state.status !== 'VALIDATING') expect(looked.has(orderHash)).toBe(true);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  test('after a block whose watcher did not know of an order it is VALIDATING, unless it was read at that block or later', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const read = new Map<Hex, number>();
        let processed = -1;
        for (const [index, fact] of events.entries()) {
          if (fact.type === 'OrderFilled' && fact.block.number >= processed) {
            read.set(fact.orderHash, Math.max(read.get(fact.orderHash) ?? -1, fact.block.number));
          }
          if (fact.type !== 'BlockProcessed' || fact.block.number <= processed) continue;
          processed = fact.block.number;
          for (const order of fold(events.slice(0, index + 1)).maker.orders.values()) {
            if (fact.knownOffset === undefined || order.acceptedOffset < BigInt(fact.knownOffset)) continue;
            if ((read.get(order.orderHash) ?? -1) < processed) expect(order.state.status).toBe('VALIDATING');
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  test('by a fact with more to come no order becomes ACTIVE but the one that it is about', () => {
    fc.assert(
      fc.property(stream, (events) => {
        for (const transition of fold(events).transitions) {
          const fact = events[Number(transition.offset)];
          if (fact === undefined || !isRead(fact) || fact.hasMore !== true) continue;
          if (transition.kind !== 'OrderChanged' || transition.order.state.status !== 'ACTIVE') continue;
          expect(fact).toMatchObject({ type: 'OrderFilled', orderHash: transition.order.orderHash });
        }
      }),
      { numRuns: 500 },
    );
  });

  test('by the chain’s clock no expired order is open, and none in its last 60 s is in the book', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const now = clockOf(events);
        for (const order of fold(events).maker.orders.values()) {
          expect(expirySeconds(order)).toBeGreaterThan(now);
          if (order.inBook) expect(expirySeconds(order) - 60).toBeGreaterThan(now);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('a hash is opened at most once, removed at most once, and nothing happens to it outside', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const life = new Map<Hex, 'open' | 'removed'>();
        for (const transition of fold(events).transitions) {
          if (!('order' in transition)) continue;
          const { orderHash } = transition.order;
          expect(life.get(orderHash)).toBe(transition.kind === 'OrderOpened' ? undefined : 'open');
          life.set(orderHash, transition.kind === 'OrderRemoved' ? 'removed' : 'open');
        }
      }),
      { numRuns: 500 },
    );
  });

  test('an order whose cancellation stands anywhere before or behind it is not open in the end', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const { maker: end, transitions } = fold(events);
        for (const fact of events) {
          if (fact.type === 'OrderCancelled') expect(end.orders.has(fact.orderHash)).toBe(false);
        }
        const cancelled = new Set<Hex>();
        for (const [index, fact] of events.entries()) {
          for (const transition of transitions.filter(({ offset }) => offset === BigInt(index))) {
            if (transition.kind !== 'OrderOpened' && transition.kind !== 'OrderChanged') continue;
            if (cancelled.has(transition.order.orderHash)) expect(transition.order.inBook).toBe(false);
          }
          if (fact.type === 'OrderCancelled') cancelled.add(fact.orderHash);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('every fact may come twice in a row: the second changes nothing', () => {
    fc.assert(
      fc.property(stream, (events) => {
        const once = fold(events);
        const twice = fold(events.flatMap((fact) => [doubled(fact), doubled(fact)]));
        const say = (folded: Folded) => folded.transitions.map(({ offset: _, ...change }) => describeChange(change));
        expect(say(twice)).toEqual(say(once));
      }),
      { numRuns: 500 },
    );
  });

  test('the state before is not touched', () => {
    fc.assert(
      fc.property(stream, stream, (before, events) => {
        const { maker: state } = fold(before);
        const copy = structuredClone(state);
        const rules = { routingGraceSeconds: 60, ...rememberHashes() };
        evolve(
          state,
          events.map((fact, index) => ({ fact, offset: BigInt(index), clockSeconds: 0, processedBlock: -1 })),
          rules,
        );
        expect(state).toEqual(copy);
      }),
    );
  });
});

/** The fact as it stands in a log that holds every fact twice. */
function doubled(fact: MakerEvent): MakerEvent {
  if (fact.type !== 'BlockProcessed' || fact.knownOffset === undefined) return fact;
  return { ...fact, knownOffset: String(2n * BigInt(fact.knownOffset)) };
}

function describeChange(change: Omit<Transition, 'offset'>): unknown {
  if (!('order' in change)) return change;
  const { acceptedOffset: _, ...order } = (change as { order: { acceptedOffset: bigint } }).order;
  return { ...change, order };
}
