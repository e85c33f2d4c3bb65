import { describe, expect, test } from '@jest/globals';
import type { Hex, MakerEvent } from '@makerbook/contracts-events';
import { evolve, forgetUnrouted, type Placed, type Rules, type Transition } from './evolve.js';
import { type Maker, unknownMaker } from './maker.js';
import { quantity, zeroAddress } from './order.js';
import { rememberHashes } from './remember-hashes.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const usd: Hex = `0x${'b2'.repeat(20)}`;
const eur: Hex = `0x${'c3'.repeat(20)}`;
const [first, second, third] = ['11', '22', '33'].map((byte): Hex => `0x${byte.repeat(32)}`) as [Hex, Hex, Hex];
const start = 1_700_000_000;
const cause = { kind: 'request', requestId: 'r' } as const;
const rules: Rules = { routingGraceSeconds: 60, ...rememberHashes() };

const block = (seconds: number, number = seconds) => ({
  number,
  hash: `0x${'00'.repeat(32)}` as Hex,
  timestamp: start + seconds,
});
const mined = (seconds: number): MakerEvent => ({ type: 'BlockProcessed', block: block(seconds) });
/** By a watcher that knew what stands before the offset in the log when it matched the block, and nothing after it. */
const minedKnowing = (knownOffset: number, seconds: number): MakerEvent => ({
  type: 'BlockProcessed',
  block: block(seconds),
  knownOffset: String(knownOffset),
});
const balance = (value: bigint, at = 1, token = usd): MakerEvent => ({
  type: 'BalanceChanged',
  maker,
  token,
  balance: quantity(value),
  block: block(at),
  cause,
});
const allowance = (value: bigint, at = 1, token = usd): MakerEvent => ({
  type: 'AllowanceChanged',
  maker,
  token,
  allowance: quantity(value),
  block: block(at),
  cause,
});
const nonce = (value: bigint, at = 1): MakerEvent => ({
  type: 'NonceChanged',
  maker,
  nonce: quantity(value),
  block: block(at),
  cause,
});
const cancelled = (orderHash: Hex): MakerEvent => ({
  type: 'OrderCancelled',
  maker,
  orderHash,
  expiresAtSeconds: 4_000_000_000,
  cause,
});
const cancelledOnChain = (orderHash: Hex): MakerEvent => ({
  type: 'OrderCancelledOnChain',
  maker,
  orderHash,
  block: block(5),
  cause,
});
const filled = (orderHash: Hex, amount: bigint, at = 5): MakerEvent => ({
  type: 'OrderFilled',
  maker,
  orderHash,
  filledMakingAmount: quantity(amount),
  block: block(at),
  cause,
});
/** The order was looked at on the chain, and nothing of it is filled. */
const seen = (orderHash: Hex, at = 1) => filled(orderHash, 0n, at);

interface Terms {
  amount?: bigint;
  nonce?: bigint;
  expiresIn?: number;
  acceptedIn?: number;
  token?: Hex;
}

const submitted = (orderHash: Hex, terms: Terms = {}): MakerEvent => ({
  type: 'OrderSubmitted',
  maker,
  orderHash,
  order: {
    salt: '0x1',
    nonce: quantity(terms.nonce ?? 0n),
    expiresAt: quantity(BigInt(start + (terms.expiresIn ?? 1000))),
    making: { token: terms.token ?? usd, amount: quantity(terms.amount ?? 100n) },
    taking: { token: eur, amount: '0x1' },
    maker,
    permittedTaker: zeroAddress,
  },
  signature: `0x${'00'.repeat(65)}`,
  acceptedAtMs: (start + (terms.acceptedIn ?? 0)) * 1000,
  cause,
});

function place(events: readonly MakerEvent[], before: readonly MakerEvent[] = []): Placed<MakerEvent>[] {
  let clockSeconds = 0;
  let processedBlock = -1;
  const placed = [...before, ...events].map((fact, index) => {
    const one = { fact, offset: BigInt(index), clockSeconds, processedBlock };
    if (fact.type === 'BlockProcessed') {
      clockSeconds = Math.max(clockSeconds, fact.block.timestamp);
      processedBlock = Math.max(processedBlock, fact.block.number);
    }
    return one;
  });
  return placed.slice(before.length);
}

/** The words that a person would use for a transition. */
function say(transition: Transition): string {
  switch (transition.kind) {
    case 'OrderOpened':
    case 'OrderChanged': {
      const { state, orderHash, remaining } = transition.order;
      const reason = state.status === 'INACTIVE' ? ` ${state.reason}` : '';
      return `${transition.kind} ${orderHash.slice(2, 4)} ${state.status}${reason} ${remaining}`;
    }
    case 'OrderObserved':
      return `OrderObserved ${transition.order.orderHash.slice(2, 4)}`;
    case 'OrderWithheld':
      return `OrderWithheld ${transition.order.orderHash.slice(2, 4)}`;
    case 'OrderRemoved':
      return `OrderRemoved ${transition.order.orderHash.slice(2, 4)} ${transition.reason}`;
    case 'HashCancelled':
      return `HashCancelled ${transition.orderHash.slice(2, 4)}`;
    case 'MakerChanged':
      return `MakerChanged ${transition.admission} ${transition.nonce?.value ?? 'unknown'}`;
  }
}

/** given some facts, when others follow, they lead to these transitions. */
function given(...before: MakerEvent[]) {
  const state: Maker = evolve(unknownMaker(maker), place(before), rules).maker;
  return {
    state,
    when(...events: MakerEvent[]) {
      const { transitions } = evolve(state, place(events, before), rules);
      return { leadsTo: (...expected: string[]) => expect(transitions.map(say)).toEqual(expected) };
    },
  };
}

const funded = [submitted(first), seen(first), nonce(0n), balance(100n), allowance(100n)];

describe('an order that was accepted', () => {
  test('is VALIDATING while nothing is known of its maker', () => {
    given().when(submitted(first)).leadsTo('OrderOpened 11 VALIDATING 100');
  });

  test.each([
    ['nonce', [seen(first), balance(100n), allowance(100n)], nonce(0n)],
    ['balance', [seen(first), nonce(0n), allowance(100n)], balance(100n)],
    ['allowance', [seen(first), nonce(0n), balance(100n)], allowance(100n)],
    ['a look at itself', [nonce(0n), balance(100n), allowance(100n)], seen(first)],
  ])('becomes ACTIVE with the last of nonce, balance, allowance and a look at itself: %s', (_name, before, last) => {
    const { state } = given(submitted(first), ...before);
    expect(state.orders.get(first)?.state).toEqual({ status: 'VALIDATING' });
    const after = evolve(state, place([last]), rules).transitions.map(say);
    expect(after).toContain('OrderChanged 11 ACTIVE 100');
  });

  test('whose maker’s funds are known is judged once it was looked at on the chain, and not before', () => {
    given(...funded)
      .when(submitted(second, { amount: 101n }), balance(200n, 2), seen(second))
      .leadsTo('OrderOpened 22 VALIDATING 101', 'OrderChanged 22 INACTIVE INSUFFICIENT_ALLOWANCE 101');
    given(...funded)
      .when(submitted(second), seen(second))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderChanged 22 ACTIVE 100');
  });

  test('that was cancelled or filled on-chain before it was posted is never ACTIVE', () => {
    given(...funded)
      .when(submitted(second), cancelledOnChain(second), filled(second, 40n))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 CANCELLED_ONCHAIN');
    given(...funded)
      .when(submitted(second), filled(second, 100n))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 FILLED');
    given(...funded)
      .when(submitted(second), filled(second, 40n))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderChanged 22 ACTIVE 60');
  });

  test('is looked at before the last processed block in vain: that reading comes from a watcher that lags', () => {
    given(...funded, mined(7))
      .when(submitted(second), seen(second, 6), seen(second, 7))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderChanged 22 ACTIVE 100');
    given(...funded, mined(7))
      .when(submitted(second), filled(second, 30n, 6))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderChanged 22 VALIDATING 70');
  });

  test('is VALIDATING in a token that is not watched yet', () => {
    given(...funded)
      .when(submitted(second, { token: eur }), seen(second))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderObserved 22');
  });

  test('is opened once, however often its fact is repeated', () => {
    given(...funded)
      .when(submitted(first))
      .leadsTo();
    given(...funded, cancelled(first))
      .when()
      .leadsTo();
    const gone = { ...rules, wasRemoved: (hash: Hex) => hash === first };
    expect(evolve(unknownMaker(maker), place([submitted(first)]), gone).transitions).toEqual([]);
  });

  test('is never opened again in the stretch of facts that removed it', () => {
    given(...funded)
      .when(cancelled(first), submitted(first))
      .leadsTo('OrderRemoved 11 CANCELLED');
  });
});

describe('a cancellation that stands before its order', () => {
  test('is remembered, and the order is removed by its own fact and never in the feed', () => {
    given(...funded)
      .when(cancelled(second), submitted(second), seen(second))
      .leadsTo('HashCancelled 22', 'OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 CANCELLED');
    const opened = evolve(unknownMaker(maker), place([cancelled(second), submitted(second)]), rules).transitions[1];
    expect(opened).toMatchObject({ kind: 'OrderOpened', order: { inBook: false } });
  });

  test('is remembered between calls by the rules, and once', () => {
    const hashes = rememberHashes();
    const { transitions } = evolve(unknownMaker(maker), place([cancelled(second), cancelled(second)]), rules);
    expect(transitions.map(say)).toEqual(['HashCancelled 22']);
    hashes.note(transitions);
    const later = evolve(unknownMaker(maker), place([cancelled(second), submitted(second)]), { ...rules, ...hashes });
    expect(later.transitions.map(say)).toEqual(['OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 CANCELLED']);
    hashes.note(later.transitions);
    const repeated = evolve(unknownMaker(maker), place([submitted(second)]), { ...rules, ...hashes });
    expect(repeated.transitions).toEqual([]);
  });

  test('leaves other orders of the maker alone', () => {
    given(...funded)
      .when(cancelled(second), submitted(first))
      .leadsTo('HashCancelled 22');
  });

  test('is not remembered of an order that was accepted and is gone', () => {
    const gone = { ...rules, wasRemoved: (hash: Hex) => hash === first };
    expect(evolve(unknownMaker(maker), place([cancelled(first)]), gone).transitions).toEqual([]);
  });
});

describe('a block whose watcher did not know of an order that another one had read', () => {
  const funds = [balance(100n), allowance(100n), nonce(0n)];
  /** The order stands at offset 0, its reading at block 1 at offset 4. */
  const active = () => given(submitted(first), ...funds, seen(first));

  test('may have changed it: it is VALIDATING until it was read at that block or later', () => {
    active()
      .when(minedKnowing(0, 2), seen(first), seen(first, 2))
      .leadsTo('OrderChanged 11 VALIDATING 100', 'OrderChanged 11 ACTIVE 100');
    active()
      .when(minedKnowing(0, 2), cancelledOnChain(first))
      .leadsTo('OrderChanged 11 VALIDATING 100', 'OrderRemoved 11 CANCELLED_ONCHAIN');
    active()
      .when(minedKnowing(0, 2), filled(first, 40n, 2))
      .leadsTo('OrderChanged 11 VALIDATING 100', 'OrderChanged 11 ACTIVE 60');
  });

  test('says nothing of those that it knew', () => {
    active().when(minedKnowing(1, 2), mined(3)).leadsTo();
    given(submitted(first), ...funds, seen(first), submitted(second), seen(second))
      .when(minedKnowing(5, 2))
      .leadsTo('OrderChanged 22 VALIDATING 100');
  });

  test('says nothing of those that were read at it, before it came into the log', () => {
    active().when(seen(first, 2), minedKnowing(0, 2)).leadsTo('OrderObserved 11');
  });

  test('says nothing where another one has published it before: that one has read them', () => {
    active().when(mined(2), minedKnowing(0, 2), minedKnowing(0, 1)).leadsTo();
  });

  test('has INACTIVE orders read anew, too, and those that wait for their funds', () => {
    given(submitted(first), balance(50n), allowance(100n), nonce(0n), seen(first))
      .when(minedKnowing(0, 2), seen(first, 2))
      .leadsTo('OrderChanged 11 VALIDATING 100', 'OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 100');
    given(submitted(first), seen(first))
      .when(minedKnowing(0, 2), balance(100n, 2), allowance(100n, 2), nonce(0n, 2), seen(first, 2))
      .leadsTo('OrderObserved 11', 'MakerChanged UNKNOWN 0', 'OrderChanged 11 ACTIVE 100');
  });

  test('may have changed the nonce of a maker of whom it knew no order: one that looks ahead of it is not removed', () => {
    const ahead = given(submitted(first, { nonce: 1n }), ...funds, seen(first));
    ahead
      .when(minedKnowing(0, 2), mined(3), nonce(1n, 3), seen(first, 3))
      .leadsTo('OrderObserved 11', 'MakerChanged UNKNOWN 1', 'OrderChanged 11 ACTIVE 100');
    ahead.when(minedKnowing(0, 2), nonce(0n, 2), mined(3)).leadsTo('OrderObserved 11', 'OrderRemoved 11 NONCE_CHANGED');
    ahead.when(minedKnowing(1, 2)).leadsTo('OrderRemoved 11 NONCE_CHANGED');
  });

  test('nor is one removed where the block’s watcher knew orders of the maker, and none that was seen since it knew them', () => {
    // It was seen before a block whose watcher did not know it, and may have changed the nonce.
    const missed = given(submitted(first), ...funds, seen(first), minedKnowing(0, 2), submitted(second, { nonce: 1n }));
    missed.when(minedKnowing(1, 3)).leadsTo();
    missed
      .when(nonce(0n, 2), seen(first, 2), minedKnowing(1, 3))
      .leadsTo('OrderChanged 11 ACTIVE 100', 'OrderRemoved 22 NONCE_CHANGED');
  });

  test('leaves alone what it removes', () => {
    given(submitted(first, { expiresIn: 70 }), ...funds, seen(first))
      .when(minedKnowing(0, 70))
      .leadsTo('OrderRemoved 11 EXPIRED');
  });
});

describe('orders of a maker that blocks were kept from', () => {
  test('are to be read anew where they stand out of the book, and are left alone where they stand in it', () => {
    const { state } = given(
      ...[balance(200n), allowance(200n), nonce(0n)],
      ...[submitted(first, { expiresIn: 65 }), submitted(second), submitted(third, { expiresIn: 66 })],
      ...[balance(200n), allowance(200n), nonce(0n), seen(first), seen(second)],
      mined(7),
    );
    const { maker: after, transitions } = forgetUnrouted(state, 20n, rules);
    expect(transitions.map(say)).toEqual(['OrderChanged 11 VALIDATING 100']);
    expect(transitions[0]?.offset).toBe(20n);
    expect([...after.orders.values()].map(({ observedBlock }) => observedBlock)).toEqual([undefined, 1, undefined]);
  });
});

describe('what was read of a maker at one block', () => {
  const more = (fact: MakerEvent) => ({ ...fact, hasMore: true as const }) as MakerEvent;

  test('is judged by its last fact: an order is not ACTIVE in between', () => {
    const poor = given(submitted(first), balance(10n), allowance(100n), nonce(0n), seen(first));
    poor.when(more(balance(100n, 2)), allowance(10n, 2)).leadsTo('OrderChanged 11 INACTIVE INSUFFICIENT_ALLOWANCE 100');
    poor.when(more(balance(100n, 2)), nonce(1n, 2)).leadsTo('MakerChanged UNKNOWN 1', 'OrderRemoved 11 NONCE_CHANGED');
    poor.when(more(balance(100n, 2)), allowance(100n, 2)).leadsTo('OrderChanged 11 ACTIVE 100');
  });

  test('nor is it without funds in between that paid for its own fill', () => {
    given(submitted(first), balance(100n), allowance(100n), nonce(0n), seen(first), submitted(second), seen(second))
      .when(more(balance(40n, 2)), more(allowance(40n, 2)), more(filled(first, 60n, 2)), filled(second, 70n, 2))
      .leadsTo('OrderChanged 11 ACTIVE 40', 'OrderChanged 22 ACTIVE 30');
  });
});

describe('funds', () => {
  test('too low an allowance comes before too low a balance', () => {
    given(...funded)
      .when(balance(99n, 2), allowance(99n, 2), allowance(100n, 3), balance(100n, 3))
      .leadsTo(
        'OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 100',
        'OrderChanged 11 INACTIVE INSUFFICIENT_ALLOWANCE 100',
        'OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 100',
        'OrderChanged 11 ACTIVE 100',
      );
  });

  test('each order is judged alone: funds for one are enough for each of two', () => {
    given(...funded, submitted(second), seen(second))
      .when(balance(100n, 2))
      .leadsTo();
    given(...funded, submitted(second, { amount: 50n }), seen(second))
      .when(balance(60n, 2))
      .leadsTo('OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 100');
  });

  test('read at a block before the last processed one count for nothing: what changed since stands before it', () => {
    given(...funded, mined(3))
      .when(balance(50n, 2), allowance(50n, 2))
      .leadsTo();
    given(...funded, mined(3))
      .when(balance(50n, 3))
      .leadsTo('OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 100');
  });

  test('an older block never overrules a newer one, and a repeat changes nothing', () => {
    given(...funded, balance(0n, 5))
      .when(balance(100n, 4), balance(0n, 5))
      .leadsTo();
  });

  test('another token’s funds do not matter', () => {
    given(...funded)
      .when(balance(0n, 2, eur), allowance(0n, 2, eur))
      .leadsTo();
  });

  test('are forgotten with the last order of the token, so that a later order waits for a new read', () => {
    given(...funded, cancelled(first))
      .when(balance(100n, 2), allowance(100n, 2), submitted(second))
      .leadsTo('OrderOpened 22 VALIDATING 100');
    given(...funded, cancelled(first), submitted(second), seen(second))
      .when(nonce(0n, 9), balance(100n, 9), allowance(100n, 9))
      .leadsTo('OrderChanged 22 ACTIVE 100');
  });

  test('and nonce that were read before the last processed block tell nothing of a pair and a maker that are new', () => {
    given(mined(7), submitted(first), seen(first, 7))
      .when(nonce(0n, 6), balance(100n, 6), allowance(100n, 6))
      .leadsTo('MakerChanged UNKNOWN 0');
    given(mined(7), submitted(first), seen(first, 7))
      .when(nonce(0n, 7), balance(100n, 7), allowance(100n, 7))
      .leadsTo('MakerChanged UNKNOWN 0', 'OrderChanged 11 ACTIVE 100');
  });

  test('the extremes of uint256 are held exactly', () => {
    const max = 2n ** 256n - 1n;
    given(submitted(first, { amount: max }), seen(first), nonce(0n), balance(max))
      .when(allowance(max - 1n), allowance(max, 2))
      .leadsTo(`OrderChanged 11 INACTIVE INSUFFICIENT_ALLOWANCE ${max}`, `OrderChanged 11 ACTIVE ${max}`);
  });
});

describe('fills', () => {
  test('lower what remains, and so the funds that are needed', () => {
    given(...funded, balance(50n, 2))
      .when(filled(first, 40n), filled(first, 50n))
      .leadsTo('OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 60', 'OrderChanged 11 ACTIVE 50');
  });

  test('are sums: a repeat or an older sum changes nothing', () => {
    given(...funded, filled(first, 40n))
      .when(filled(first, 40n), filled(first, 10n))
      .leadsTo();
  });

  test('in full remove the order', () => {
    given(...funded)
      .when(filled(first, 100n))
      .leadsTo('OrderRemoved 11 FILLED');
  });

  test('of an order that is not open do nothing', () => {
    given(...funded)
      .when(filled(second, 100n))
      .leadsTo();
  });
});

describe('the nonce', () => {
  test('that moved on removes every order with a lower one', () => {
    given(...funded, submitted(second, { nonce: 1n }), seen(second), submitted(third))
      .when(nonce(1n, 2))
      .leadsTo(
        'MakerChanged UNKNOWN 1',
        'OrderRemoved 11 NONCE_CHANGED',
        'OrderRemoved 33 NONCE_CHANGED',
        'OrderChanged 22 ACTIVE 100',
      );
  });

  test('never goes down', () => {
    given(...funded, nonce(1n, 2))
      .when(nonce(0n, 1))
      .leadsTo();
    given(...funded, nonce(1n, 2))
      .when(submitted(second))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 NONCE_CHANGED');
  });

  test('ahead of the chain’s: VALIDATING until a block not older than the acceptance, then removed', () => {
    const ahead = submitted(second, { nonce: 1n, acceptedIn: 10 });
    given(...funded, ahead)
      .when(mined(9))
      .leadsTo();
    given(...funded, ahead)
      .when(mined(10))
      .leadsTo('OrderRemoved 22 NONCE_CHANGED');
    given(...funded, ahead, seen(second))
      .when(nonce(1n, 9), mined(10))
      .leadsTo('MakerChanged UNKNOWN 1', 'OrderRemoved 11 NONCE_CHANGED', 'OrderChanged 22 ACTIVE 100');
  });

  test('that is not being watched decides nothing, however old its last value', () => {
    given(...funded, cancelled(first), submitted(second, { nonce: 3n }))
      .when(mined(100))
      .leadsTo();
    given(...funded, cancelled(first), submitted(second, { nonce: 3n }), seen(second), mined(100))
      .when(nonce(3n, 100), balance(100n, 100), allowance(100n, 100))
      .leadsTo('MakerChanged UNKNOWN 3', 'OrderChanged 22 ACTIVE 100');
  });
});

describe('the clock', () => {
  test('takes an order out of the router’s feed 60 s before it expires, and away at its expiry', () => {
    given(...funded)
      .when(mined(939), mined(940), mined(999), mined(1000))
      .leadsTo('OrderWithheld 11', 'OrderRemoved 11 EXPIRED');
  });

  test('keeps a withheld order in the maker’s list and out of the feed when its funds change', () => {
    const { state } = given(...funded, mined(950), balance(0n, 950));
    expect(state.orders.get(first)).toMatchObject({ inBook: false, state: { status: 'INACTIVE' } });
  });

  test('opens an order that is inside its last 60 s without ever showing it to the router', () => {
    expect(given(mined(950), submitted(first)).state.orders.get(first)?.inBook).toBe(false);
  });

  test('removes an order at once that is expired by the chain’s clock', () => {
    given(mined(1000)).when(submitted(first)).leadsTo('OrderOpened 11 VALIDATING 100', 'OrderRemoved 11 EXPIRED');
  });

  test('never runs back', () => {
    given(...funded, mined(950))
      .when(mined(100))
      .leadsTo();
  });

  test('an expiry beyond any clock is held', () => {
    given(submitted(first, { expiresIn: Number.MAX_SAFE_INTEGER }))
      .when(mined(10 ** 9))
      .leadsTo();
  });
});

describe('cancelling and admission', () => {
  test('a cancelled order is removed, with who cancelled it', () => {
    given(...funded)
      .when(cancelled(first), cancelled(first))
      .leadsTo('OrderRemoved 11 CANCELLED');
    given(...funded)
      .when(cancelledOnChain(first))
      .leadsTo('OrderRemoved 11 CANCELLED_ONCHAIN');
  });

  test('an operator’s decision changes the maker and none of its orders', () => {
    given(...funded)
      .when(
        { type: 'MakerAdmitted', maker, cause },
        { type: 'MakerAdmitted', maker, cause },
        { type: 'MakerSuspended', maker, cause },
        { type: 'MakerRemoved', maker, cause },
      )
      .leadsTo('MakerChanged ADMITTED 0', 'MakerChanged SUSPENDED 0', 'MakerChanged REMOVED 0');
  });
});
