import { describe, expect, test } from '@jest/globals';
import type {
  MakerEvent,
  MakerFact,
  MakerLimits,
  MakerObserved,
  ObservedOrder,
  OrderFill,
  OrderSubmitted,
} from '@makerbook/contracts-events';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import { startOfLog } from './log-clock.js';
import { type Maker, type Transition, unknownMaker } from './maker.js';
import { MakerDraft } from './maker-draft.js';
import { HASH_MEMORY_SECONDS, reasonOf } from './open-order.js';
import { rememberHashes } from './remember-hashes.js';
import { foldFacts, startFold } from './testing/fold-facts.js';
import { orderSubmitted, type Terms } from './testing/order-submitted.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const usd: Hex = `0x${'b2'.repeat(20)}`;
const eur: Hex = `0x${'c3'.repeat(20)}`;
const [first, second, third] = ['11', '22', '33'].map((byte): Hex => `0x${byte.repeat(32)}`) as [Hex, Hex, Hex];
const start = 1_700_000_000;
const cause = { kind: 'request', requestId: 'r' } as const;

const block = (seconds: number) => ({
  number: seconds,
  hash: `0x${'00'.repeat(32)}` as Hex,
  timestamp: start + seconds,
});
const mined = (seconds: number): MakerEvent => ({ type: 'BlockProcessed', block: block(seconds) });

interface Reading {
  at?: number;
  /** Left out of the record if null. */
  nonce?: bigint | null;
  balance?: bigint;
  allowance?: bigint;
  token?: Hex;
  /** The filled amount of an order, or that it is cancelled. */
  orders?: readonly (readonly [Hex, bigint | 'cancelled'])[];
}

/** A reading of the maker at a block, by default with funds of 100 and nonce 0. */
const observed = (reading: Reading = {}): MakerObserved => {
  const { at = 1, nonce = 0n, balance = 100n, allowance = 100n, token = usd, orders = [] } = reading;
  return {
    type: 'MakerObserved',
    maker,
    block: block(at),
    cause,
    ...(nonce === null ? {} : { nonce: quantity(nonce) }),
    funds: [{ token, balance: quantity(balance), allowance: quantity(allowance) }],
    orders: orders.map(([orderHash, state]) => ({
      orderHash,
      filled: typeof state === 'string' ? '0x0' : quantity(state),
      cancelled: state === 'cancelled',
    })),
  };
};
/** A reading after a trigger touched the pair: funds alone. */
const funds = (balance: bigint, allowance: bigint, at = 2, token = usd) =>
  observed({ at, balance, allowance, token, nonce: null });
const cancelled = (orderHash: Hex, expiresAtSeconds = 4_000_000_000): MakerEvent => ({
  type: 'OrderCancelled',
  maker,
  orderHash,
  expiresAtSeconds,
  cause,
});

const submitted = (
  orderHash: Hex,
  { expiresIn = 1000, acceptedIn = 0, ...terms }: Partial<Terms> & { expiresIn?: number; acceptedIn?: number } = {},
): MakerEvent => {
  const times = { expiresAt: start + expiresIn, acceptedAtMs: (start + acceptedIn) * 1000 };
  return orderSubmitted({ orderHash, maker, making: usd, taking: eur, ...times, ...terms });
};

/** An order whose signature the maker's contract has accepted. */
const byWallet = (orderHash: Hex): MakerEvent => ({ ...(submitted(orderHash) as OrderSubmitted), byWallet: true });
/** A reading that says more about an order, or about all of them. */
const saying = (own: Partial<ObservedOrder>, all: Partial<MakerObserved> = {}, at = 2): MakerEvent => {
  const reading = observed({ at, orders: [[first, 0n]] });
  return { ...reading, orders: reading.orders.map((order) => ({ ...order, ...own })), ...all };
};

/** A memory in which the order was accepted before. */
function remembering(orderHash: Hex, nonce = 0n) {
  const hashes = rememberHashes();
  const times = { expiresAtSeconds: start + 1000, keptUntilSeconds: start };
  hashes.remember({ orderHash, maker }, { state: 'ACCEPTED', nonce, ...times });
  return hashes;
}

/** Describes a transition in words. */
function describeTransition(transition: Transition): string {
  if (transition.kind === 'MakerChanged') {
    const limits = Object.entries(transition.limits).map(([name, limit]) => ` ${name} ${limit}`);
    return `MakerChanged ${transition.admission} ${transition.nonce?.value ?? 'unknown'}${limits.join('')}`;
  }
  if (transition.kind === 'HashCancelled') return `HashCancelled ${transition.orderHash.slice(2, 4)}`;
  const { state, orderHash, remaining } = transition.order;
  const reason = reasonOf(state);
  const status = `${state.status}${reason === null ? '' : ` ${reason}`} ${remaining}`;
  const name = `${transition.kind} ${orderHash.slice(2, 4)}`;
  switch (transition.kind) {
    case 'OrderOpened':
      return `${name} ${status}${transition.isWithheld ? ' withheld' : ''}`;
    case 'OrderChanged':
      return `${name} ${status} ${transition.causes.join('+')}`;
    case 'OrderRemoved':
    case 'OrderWithheld':
      return `${name} ${transition.reason}`;
    default:
      return name;
  }
}

/** Checks that after some facts, others lead to these transitions. */
function given(...before: MakerEvent[]) {
  const folded = () => {
    const fold = startFold(unknownMaker(maker));
    foldFacts(fold, before);
    return fold;
  };
  return {
    state: folded().draft as Maker,
    when(...events: MakerEvent[]) {
      const transitions = foldFacts(folded(), events);
      return { leadsTo: (...expected: string[]) => expect(transitions.map(describeTransition)).toEqual(expected) };
    },
    ignores: (...events: MakerEvent[]) => expect(foldFacts(folded(), events)).toEqual([]),
  };
}

const funded = [submitted(first), observed({ orders: [[first, 0n]] })];

describe('a cancellation before its order', () => {
  test('is remembered, and its order is removed at once and never appears in the feed', () => {
    given(...funded)
      .when(cancelled(second), submitted(second), observed({ orders: [[second, 0n]] }))
      .leadsTo('HashCancelled 22', 'OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 CANCELLED');
    const [, opened] = foldFacts(startFold(unknownMaker(maker)), [cancelled(second), submitted(second)]);
    expect(opened).toMatchObject({ kind: 'OrderOpened', order: { inBook: false } });
  });

  test('counts until a day after the expiry that it names, even if it is remembered longer', () => {
    const late = 1000 + HASH_MEMORY_SECONDS;
    given(cancelled(second, start + 1000), mined(late))
      .when(submitted(second, { expiresIn: 2 * late }))
      .leadsTo('OrderOpened 22 VALIDATING 100');
  });
});

describe('a hash that the nonce of its maker has passed', () => {
  const passed = [...funded, observed({ at: 2, nonce: 1n })];

  test('is remembered for two minutes after its order was accepted: the record may be in the log more than once', () => {
    const again = submitted(second, { acceptedIn: 3 });
    given(...passed, mined(3))
      .when(again, again, mined(122), again)
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 NONCE_CHANGED');
    given(...passed, mined(3), again, mined(123))
      .when(again)
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 NONCE_CHANGED');
  });

  test('need not be remembered: its order is removed at once, and is never in the feed', () => {
    for (const hashes of [rememberHashes(), remembering(second)]) {
      const fold = startFold(unknownMaker(maker), hashes);
      foldFacts(fold, [...passed, mined(2)]);
      const transitions = foldFacts(fold, [submitted(second)]);
      expect(transitions.map(describeTransition)).toEqual([
        'OrderOpened 22 VALIDATING 100',
        'OrderRemoved 22 NONCE_CHANGED',
      ]);
      expect(transitions[0]).toMatchObject({ order: { inBook: false } });
    }
  });
});

describe('a cancellation by another maker', () => {
  test('changes nothing for the order', () => {
    const hashes = rememberHashes();
    hashes.note([{ kind: 'HashCancelled', maker: usd, orderHash: second, expiresAtSeconds: start + 1000 }]);
    const transitions = foldFacts(startFold(unknownMaker(maker), hashes), [submitted(second)]);
    expect(transitions.map(describeTransition)).toEqual(['OrderOpened 22 VALIDATING 100']);
  });
});

describe('the version of the list', () => {
  test('is that of the release from quarantine, whatever changed the list before', () => {
    const fold = startFold(unknownMaker(maker));
    foldFacts(fold, [submitted(first), cancelled(first)]);
    fold.draft.release({ offset: 7n, clock: fold.clock });
    expect(fold.draft.listVersion).toBe(7n);
  });
});

describe('funds', () => {
  test('that are too low are reported by the allowance first, then by the balance', () => {
    given(...funded)
      .when(funds(99n, 100n, 2), funds(99n, 99n, 3), funds(99n, 100n, 4), funds(100n, 100n, 5))
      .leadsTo(
        'OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 100 BALANCE_CHANGED',
        'OrderChanged 11 INACTIVE INSUFFICIENT_ALLOWANCE 100 ALLOWANCE_CHANGED',
        'OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 100 ALLOWANCE_CHANGED',
        'OrderChanged 11 ACTIVE 100 BALANCE_CHANGED',
      );
  });

  test('read at a block before the last processed one do not count: what changed since is earlier in the log', () => {
    given(...funded, mined(3)).ignores(funds(50n, 50n, 2));
    given(...funded, mined(3))
      .when(funds(50n, 100n, 3))
      .leadsTo('OrderChanged 11 INACTIVE INSUFFICIENT_BALANCE 100 BALANCE_CHANGED');
  });

  test('of an older block never overrule newer ones, and a repeat changes nothing', () => {
    given(...funded, funds(0n, 100n, 5)).ignores(funds(100n, 100n, 4), funds(0n, 100n, 5));
  });

  test('and a fill at the same block are judged together: an order is not without funds in between', () => {
    given(...funded, submitted(second), observed({ orders: [[second, 0n]] }))
      .when(
        observed({
          at: 2,
          balance: 40n,
          allowance: 40n,
          orders: [
            [first, 60n],
            [second, 70n],
          ],
        }),
      )
      .leadsTo(
        'OrderChanged 11 ACTIVE 40 FILLED+ALLOWANCE_CHANGED+BALANCE_CHANGED',
        'OrderChanged 22 ACTIVE 30 FILLED+ALLOWANCE_CHANGED+BALANCE_CHANGED',
      );
  });
});

describe('the nonce', () => {
  test('that moves on removes every order with a lower one, and makes orders ACTIVE that waited for it', () => {
    const waiting = submitted(second, { nonce: 1n, acceptedIn: 10 });
    given(...funded, waiting, observed({ at: 2, orders: [[second, 0n]] }), submitted(third))
      .when(observed({ at: 3, nonce: 1n }))
      .leadsTo(
        'MakerChanged UNKNOWN 1',
        'OrderRemoved 11 NONCE_CHANGED',
        'OrderRemoved 33 NONCE_CHANGED',
        'OrderChanged 22 ACTIVE 100 NONCE_CHANGED',
      );
  });

  test('never goes down, and removes a later order with a lower one at once', () => {
    given(...funded, observed({ at: 2, nonce: 1n })).ignores(observed({ at: 2, nonce: 0n }));
    given(...funded, observed({ at: 2, nonce: 1n }))
      .when(submitted(second))
      .leadsTo('OrderOpened 22 VALIDATING 100', 'OrderRemoved 22 NONCE_CHANGED');
  });

  test('below that of an order leaves it VALIDATING until a block as new as its acceptance, which removes it', () => {
    const ahead = submitted(second, { nonce: 1n, acceptedIn: 10 });
    const read = (at: number) => observed({ at, orders: [[second, 0n]] });
    given(...funded, ahead).ignores(mined(50));
    given(...funded, ahead, read(8))
      .when(mined(9), mined(10))
      .leadsTo('OrderRemoved 22 NONCE_CHANGED');
    given(...funded, ahead)
      .when(read(9))
      .leadsTo('OrderObserved 22');
    given(...funded, ahead)
      .when(read(10))
      .leadsTo('OrderObserved 22', 'OrderRemoved 22 NONCE_CHANGED');
  });
});

describe('the clock', () => {
  test('takes an order out of the router’s feed 60 s before it expires, and removes it at its expiry', () => {
    given(...funded)
      .when(mined(939), mined(940), mined(999), mined(1000))
      .leadsTo('OrderWithheld 11 GRACE_PERIOD', 'OrderRemoved 11 EXPIRED');
  });

  test('withholds an order from the start if it has at most 60 s to live, and no other order', () => {
    given(mined(940))
      .when(submitted(first), submitted(second, { expiresIn: 1001 }))
      .leadsTo('OrderOpened 11 VALIDATING 100 withheld', 'OrderOpened 22 VALIDATING 100');
    const late = submitted(first);
    const opened = ['OrderOpened 11 VALIDATING 100'] as const;
    given(mined(1000))
      .when(late)
      .leadsTo(...opened, 'OrderRemoved 11 EXPIRED');
    given(cancelled(first), mined(950))
      .when(late)
      .leadsTo(...opened, 'OrderRemoved 11 CANCELLED');
    given(observed({ nonce: 1n }), mined(950))
      .when(late)
      .leadsTo(...opened, 'OrderRemoved 11 NONCE_CHANGED');
  });

  test('ignores an order and its cancellation a day after it expired, when nothing is remembered', () => {
    given(mined(1000 + HASH_MEMORY_SECONDS))
      .when(submitted(first), cancelled(second))
      .leadsTo('HashCancelled 22');
    given(mined(1000 + HASH_MEMORY_SECONDS)).ignores(submitted(first), cancelled(second, start + 1000));
  });

  test('never runs backwards', () => {
    given(...funded, mined(950)).ignores(mined(100));
  });
});

describe('an operator’s decision', () => {
  const admitted: MakerEvent = { type: 'MakerAdmitted', maker, cause };
  const suspended: MakerEvent = { type: 'MakerSuspended', maker, cause };
  const limited = (limits: MakerLimits): MakerEvent => ({ type: 'MakerLimitsSet', maker, limits, cause });

  test('about limits replaces all earlier limits, and one that changes nothing has no effect', () => {
    given(admitted, ...funded)
      .when(
        limited({ openOrdersMax: 5, ordersBurst: 7 }),
        limited({ ordersBurst: 7, openOrdersMax: 5 }),
        limited({ openOrdersMax: 5 }),
        suspended,
        limited({}),
      )
      .leadsTo(
        'MakerChanged ADMITTED 0 openOrdersMax 5 ordersBurst 7',
        'MakerChanged ADMITTED 0 openOrdersMax 5',
        'MakerChanged SUSPENDED 0 openOrdersMax 5',
        'OrderWithheld 11 SUSPENDED',
        'MakerChanged SUSPENDED 0',
      );
  });
});

describe('a cap', () => {
  const capOf = (amount: bigint): MakerEvent => {
    return { type: 'FillCapSet', maker, token: usd, amount: quantity(amount), windowSeconds: 10, issuedAtMs: 1, cause };
  };
  /** A reading of a fill of 60 in the block, and of nothing else. */
  const filled = (orderHash: Hex, at: number, fill: Partial<OrderFill> = {}): MakerEvent => {
    const [place, amounts] = [
      { blockNumber: at, logIndex: 0 },
      { makingAmount: quantity(60n), takingAmount: '0x1' },
    ];
    const own = { orderHash, taker: eur, transactionHash: first, ...amounts, ...place, ...fill } as OrderFill;
    return { type: 'MakerObserved', maker, block: block(at), cause, funds: [], orders: [], fills: [own] };
  };
  const sold = { makingToken: usd, timestamp: start + 2 };
  const withheld = 'OrderWithheld 11 CAPPED';

  test.each<[string, MakerEvent[]]>([
    ['is open', [...funded, submitted(second)]],
    ['was cancelled', [...funded, submitted(second), cancelled(second)]],
    ['has expired', [...funded, submitted(second, { expiresIn: 1 }), mined(1)]],
    ['was never posted', funded],
  ])('counts a fill of an order that %s', (_how, before) => {
    given(...before, capOf(59n))
      .when(filled(second, 2, sold))
      .leadsTo(withheld, ...(_how === 'is open' ? ['OrderChanged 22 VALIDATING 100 CAP_CHANGED'] : []));
    given(...before, capOf(60n)).ignores(filled(second, 2, sold));
  });

  test('counts each fill once, however often it is reported', () => {
    given(...funded, capOf(119n), filled(second, 2, sold)).ignores(filled(second, 2, sold));
    given(...funded, capOf(119n), filled(second, 2, sold))
      .when(filled(second, 2, { ...sold, logIndex: 1 }))
      .leadsTo(withheld);
  });

  test('counts a fill that is reported late by the time of its own block', () => {
    given(...funded, capOf(59n), filled(second, 9, { ...sold, blockNumber: 2 }))
      .when(mined(11), mined(12))
      .leadsTo('OrderChanged 11 ACTIVE 100 CAP_CHANGED');
  });

  test('counts a fill of an earlier release by the block of the reading, if its order is open', () => {
    given(...funded, capOf(59n))
      .when(filled(first, 2), mined(12))
      .leadsTo(withheld, 'OrderChanged 11 ACTIVE 100 CAP_CHANGED');
    given(...funded, capOf(59n)).ignores(filled(second, 2));
  });
});

describe('a maker that is released from quarantine', () => {
  test('has all open orders VALIDATING until they are read again', () => {
    const fold = startFold(unknownMaker(maker));
    foldFacts(fold, funded);
    expect(fold.draft.release({ offset: 9n, clock: fold.clock }).map(describeTransition)).toEqual([
      'OrderChanged 11 VALIDATING 100 RELEASED',
    ]);
    expect(foldFacts(fold, [funds(100n, 100n)]).map(describeTransition)).toEqual([]);
    expect(foldFacts(fold, [observed({ at: 2, orders: [[first, 0n]] })]).map(describeTransition)).toEqual([
      'OrderChanged 11 ACTIVE 100 OBSERVED',
    ]);
  });

  test('has orders withheld whose cap was exceeded meanwhile, until the window of the cap ends', () => {
    const fold = startFold(unknownMaker(maker));
    const book = () => [...fold.draft.orders.values()].flatMap(({ inBook, orderHash }) => (inBook ? orderHash : []));
    const cap = { token: usd, amount: quantity(50n), windowSeconds: 10, issuedAtMs: start * 1000 };
    const other = [submitted(second, { making: eur }), observed({ token: eur, orders: [[second, 0n]] })];
    foldFacts(fold, [...funded, ...other, { type: 'FillCapSet', maker, ...cap, cause }]);
    fold.draft.quarantine(fold.nextOffset);
    const fill = { orderHash: first, taker: eur, makingAmount: '0x3c', takingAmount: '0x1' } as const;
    const fills = [{ ...fill, blockNumber: 2, logIndex: 0, transactionHash: first }];
    foldFacts(fold, [{ ...observed({ at: 2, orders: [[first, 60n]] }), fills }, mined(2)]);
    const released = fold.draft.release({ offset: fold.nextOffset, clock: fold.clock });
    expect(released.map(describeTransition)).toEqual([
      'OrderChanged 11 VALIDATING 40 RELEASED',
      'OrderChanged 22 VALIDATING 100 RELEASED',
    ]);
    expect(book()).toEqual([]);
    foldFacts(fold, [
      observed({ at: 3, orders: [[first, 60n]] }),
      observed({ at: 3, token: eur, orders: [[second, 0n]] }),
    ]);
    expect(book()).toEqual([second]);
    foldFacts(fold, [mined(12)]);
    expect(book()).toEqual([first, second]);
  });
});

describe('a fact that breaks an invariant', () => {
  test('throws, and leaves the maker as it was', () => {
    const { state } = given(submitted(third, { making: eur }), ...funded, submitted(second));
    const broken: Maker = { ...unknownMaker(maker), orders: state.orders, nonce: state.nonce, funding: new Map() };
    const whole = new Map(state.funding);
    whole.delete(usd);
    const draft = new MakerDraft({ ...broken, funding: whole }, { routingGraceSeconds: 60, ...rememberHashes() });
    const before = structuredClone({ ...draft, orders: draft.orders, funding: draft.funding, rules: undefined });
    const all = observed({ at: 3, nonce: 1n, orders: [[third, 'cancelled']] });
    expect(() => draft.apply(all, { offset: 9n, clock: startOfLog })).toThrow(/without a funding entry/);
    const after = { ...draft, orders: draft.orders, funding: draft.funding, rules: undefined };
    expect(structuredClone(after)).toEqual(before);
    expect([...draft.orders.keys()]).toEqual([third, first, second]);
  });

  test.each([
    ['makes an amount of zero', submitted(first, { amount: 0n })],
    ['expires at 0', submitted(first, { expiresIn: -start })],
  ])('is an order that %s, even if it is already known', (what, fact) => {
    expect(() => given().when(fact)).toThrow(`the order ${what}`);
    expect(() => given(...funded).when(fact)).toThrow(`the order ${what}`);
  });

  test('is undone like one that its caller refuses', () => {
    const fold = startFold(unknownMaker(maker));
    foldFacts(fold, funded);
    const { draft, clock } = fold;
    const before = structuredClone({ orders: draft.orders, funding: draft.funding, due: draft.dueAtSeconds });
    const refuse = (transitions: readonly Transition[]) => {
      throw new Error(`${transitions.length} refused`);
    };
    expect(() => draft.apply(funds(1n, 1n) as MakerObserved, { offset: 9n, clock }, refuse)).toThrow('1 refused');
    expect(() => draft.advance({ ...clock, seconds: start + 1000 }, 9n, refuse)).toThrow('1 refused');
    expect(() => draft.release({ offset: 9n, clock }, refuse)).toThrow('1 refused');
    const limits: MakerFact = { type: 'MakerLimitsSet', maker, limits: { openOrdersMax: 1 }, cause };
    for (const fact of [limits, { type: 'MakerSuspended', maker, cause } as const])
      expect(() => draft.apply(fact, { offset: 9n, clock }, refuse)).toThrow('refused');
    expect(draft).toMatchObject({ admission: 'UNKNOWN', limits: {} });
    expect(structuredClone({ orders: draft.orders, funding: draft.funding, due: draft.dueAtSeconds })).toEqual(before);
  });
});

describe('an order that is VALIDATING says what it waits for', () => {
  const isRead = observed({ orders: [[first, 0n]] });
  const unread = { ...observed({ at: 2, nonce: null, balance: 0n, allowance: 0n }) };
  const putOff: MakerEvent = { ...unread, funds: unread.funds.map((funds) => ({ ...funds, unread: true })) };

  test('funds whose reading was put off, until they are read', () => {
    const known = given(submitted(first), submitted(second, { making: eur, taking: usd }), isRead);
    known
      .when(putOff, funds(100n, 100n, 3))
      .leadsTo(
        'OrderChanged 11 VALIDATING FUNDS 100 ALLOWANCE_CHANGED+BALANCE_CHANGED',
        'OrderChanged 11 ACTIVE 100 ALLOWANCE_CHANGED+BALANCE_CHANGED',
      );
    given(submitted(first), isRead, putOff).ignores(putOff);
  });

  test('a new order whose funds were put off is judged once they are read', () => {
    const { funds: none } = putOff as MakerObserved;
    given(submitted(first))
      .when(saying({}, { funds: none }), funds(100n, 7n, 3))
      .leadsTo(
        'MakerChanged UNKNOWN 0',
        'OrderChanged 11 VALIDATING FUNDS 100 OBSERVED+NONCE_CHANGED',
        'OrderChanged 11 INACTIVE INSUFFICIENT_ALLOWANCE 100 ALLOWANCE_CHANGED+BALANCE_CHANGED',
      );
  });

  test('the signatures of a contract that were not asked for again, order by order', () => {
    const changed = { ...observed({ at: 2 }), funds: [], signaturesUnread: true as const };
    given(byWallet(first), submitted(second), byWallet(third), isRead, saying({}, { orders: [] }))
      .when(changed, saying({}, {}, 2), saying({ refused: true }, {}, 3), changed)
      .leadsTo(
        'OrderChanged 11 VALIDATING SIGNATURE 100 OBSERVED',
        'OrderChanged 11 ACTIVE 100 OBSERVED',
        'OrderChanged 11 VALIDATING SIGNATURE 100 OBSERVED',
      );
  });

  test('code at the taking token', () => {
    given(submitted(first))
      .when(saying({ refused: true, noCode: true }), saying({ refused: true, noCode: true }), saying({}, {}, 3))
      .leadsTo(
        'MakerChanged UNKNOWN 0',
        'OrderChanged 11 VALIDATING TAKING_TOKEN 100 OBSERVED+ALLOWANCE_CHANGED+BALANCE_CHANGED+NONCE_CHANGED',
        'OrderChanged 11 ACTIVE 100 OBSERVED',
      );
  });
});
