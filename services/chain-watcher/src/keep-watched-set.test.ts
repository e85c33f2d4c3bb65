import { describe, expect, test } from '@jest/globals';
import type { BlockRef, Cause, Hex, MakerEvent } from '@makerbook/contracts-events';
import { evolve, type Maker, rememberHashes, unknownMaker } from '@makerbook/domain';
import fc from 'fast-check';
import { WatchedSet } from './keep-watched-set.js';

const PARTITIONS = 3;
const makers = [0, 1, 2, 3].map((n): Hex => `0xa${n}${'0'.repeat(38)}`);
const tokens = [0, 1, 2].map((n): Hex => `0xb${n}${'0'.repeat(38)}`);
const cause: Cause = { kind: 'request', requestId: 'r' };
const partitionOfMaker = (maker: Hex) => makers.indexOf(maker) % PARTITIONS;
const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;
const blockOf = (number: number): BlockRef => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  timestamp: number * 2,
});

/** An order's content follows from its number, as a hash says everything of an order. */
const submitted = (n: number): Extract<MakerEvent, { type: 'OrderSubmitted' }> => {
  const maker = pick(makers, n);
  return {
    type: 'OrderSubmitted',
    maker,
    orderHash: hashOf(n),
    order: {
      salt: '0x0',
      nonce: `0x${(n * 7) % 3}`,
      expiresAt: `0x${((n * 5) % 40).toString(16)}`,
      making: { token: pick(tokens, n * 3 + 1), amount: `0x${((n % 5) + 1).toString(16)}` },
      taking: { token: `0x${'c'.repeat(40)}`, amount: '0x1' },
      maker,
      permittedTaker: `0x${'0'.repeat(40)}`,
    },
    signature: `0x${'0'.repeat(130)}`,
    acceptedAtMs: ((n * 11) % 30) * 1000,
    cause,
  };
};
const hashOf = (n: number): Hex => `0x${(n + 1).toString(16).padStart(64, '0')}`;

const small = fc.nat(60);
const block = fc.nat(20).map(blockOf);
const eventOf = fc.oneof(
  { arbitrary: small.map(submitted), weight: 4 },
  small.map((n): MakerEvent => {
    return {
      type: 'OrderCancelled',
      maker: pick(makers, n),
      orderHash: hashOf(n),
      expiresAtSeconds: 4_000_000_000,
      cause,
    };
  }),
  fc.tuple(small, block).map(
    ([n, at]): MakerEvent => ({
      type: 'OrderCancelledOnChain',
      maker: pick(makers, n),
      orderHash: hashOf(n),
      block: at,
      cause,
    }),
  ),
  fc.tuple(small, fc.nat(6), block).map(
    ([n, amount, at]): MakerEvent => ({
      type: 'OrderFilled',
      maker: pick(makers, n),
      orderHash: hashOf(n),
      filledMakingAmount: `0x${amount.toString(16)}`,
      block: at,
      cause,
    }),
  ),
  fc.tuple(small, fc.nat(3), block).map(
    ([n, nonce, at]): MakerEvent => ({
      type: 'NonceChanged',
      maker: pick(makers, n),
      nonce: `0x${nonce}`,
      block: at,
      cause,
    }),
  ),
  fc.tuple(small, small, fc.nat(9), block, fc.boolean()).map(([n, t, value, at, isBalance]): MakerEvent => {
    const common = { maker: pick(makers, n), token: pick(tokens, t), block: at, cause };
    return isBalance
      ? { type: 'BalanceChanged', balance: `0x${value}`, ...common }
      : { type: 'AllowanceChanged', allowance: `0x${value}`, ...common };
  }),
  {
    arbitrary: fc.record({
      type: fc.constant('BlockProcessed' as const),
      block,
      knownOffset: fc.option(fc.nat(120).map(String), { nil: undefined }),
    }),
    weight: 2,
  },
);

describe('the watched set', () => {
  test('holds what the fold of the domain holds, and knows what it waits for: pairs, makers, open orders and funding, after every fact', () => {
    fc.assert(
      fc.property(fc.array(eventOf, { maxLength: 120 }), (events) => {
        const watched = new WatchedSet(PARTITIONS);
        const oracle = new Oracle();
        for (const [n, event] of events.entries()) {
          const offset = BigInt(n);
          if (event.type === 'BlockProcessed') {
            for (let partition = 0; partition < PARTITIONS; partition += 1) watched.apply(partition, event, offset);
          } else watched.apply(partitionOfMaker(event.maker), event, offset);
          oracle.apply(event, offset);
          expect(describeWatched(watched)).toEqual(oracle.describe());
          const unread = watched.unreadOrders().map((order) => watched.orderHash(order));
          expect(unread).toEqual(expect.arrayContaining(oracle.waiting()));
        }
      }),
      { numRuns: 400 },
    );
  });

  test('takes an order for unread until it was looked at with funds and nonce known, at the last processed block or later', () => {
    const { watched, apply, lasting, order, look } = unreadOrder();
    expect(watched.unreadOrders()).toEqual([order]);
    look(5);
    expect(watched.unreadOrders()).toEqual([order]);
    const { maker } = lasting;
    const { token } = lasting.order.making;
    const facts = [
      { type: 'NonceChanged', maker, nonce: lasting.order.nonce, block: blockOf(5), cause },
      { type: 'AllowanceChanged', maker, token, allowance: '0x1', block: blockOf(5), cause },
      { type: 'BalanceChanged', maker, token, balance: '0x1', block: blockOf(5), cause },
      { type: 'BlockProcessed', block: blockOf(6) },
    ] as const;
    for (const fact of facts) apply(fact);
    look(5);
    expect(watched.unreadOrders()).toEqual([order]);
    look(6);
    expect(watched.unreadOrders()).toEqual([]);
  });

  test('gives an unread order again every two blocks, and none that is gone', () => {
    const { watched, apply, lasting, order } = unreadOrder();
    const process = (number: number) => apply({ type: 'BlockProcessed', block: blockOf(number) });
    process(6);
    expect(watched.takeOverdue()).toEqual([]);
    process(7);
    expect(watched.takeOverdue()).toEqual([order]);
    expect(watched.takeOverdue()).toEqual([]);
    process(9);
    expect(watched.takeOverdue()).toEqual([order]);
    process(11);
    const { maker, orderHash } = lasting;
    apply({ type: 'OrderCancelled', maker, orderHash, expiresAtSeconds: 4_000_000_000, cause });
    expect(watched.takeOverdue()).toEqual([]);
  });

  test('gives an order again at once whose reading came too late: where the block it came behind was matched', () => {
    const { watched, order, apply, lasting, look } = unreadOrder();
    const process = (number: number) => apply({ type: 'BlockProcessed', block: blockOf(number) });
    process(6);
    watched.noteMatched(6);
    expect(look(5)).toBe(order);
    expect(watched.takeOverdue()).toEqual([]);
    process(7);
    expect(look(6)).toBe(-1);
    expect(watched.takeOverdue()).toEqual([order]);
    expect(watched.takeOverdue()).toEqual([]);
    // One that was read in time is not read again for what comes late.
    fundsOf(lasting, 7).forEach(apply);
    expect([look(7), look(6)]).toEqual([-1, -1]);
    expect(watched.takeOverdue()).toEqual([]);
  });

  test('gives an order again with the next block that was read before a block whose watcher did not know it', () => {
    const { watched, apply, lasting, order, look } = unreadOrder();
    fundsOf(lasting, 5).forEach(apply);
    look(5);
    const pair = watched.pairOf(order);
    expect(watched.isFunded(pair)).toBe(true);
    const process = (number: number, knownOffset: string) => {
      apply({ type: 'BlockProcessed', block: blockOf(number), knownOffset });
      return watched.takeOverdue();
    };
    expect(process(6, '2')).toEqual([]);
    expect(process(7, '1')).toEqual([order]);
    expect(process(8, '2')).toEqual([]);
    // Nor does what was read of its pair and its maker before that block count any more.
    expect([watched.isFunded(pair), watched.isNonceRead(watched.makerOf(pair))]).toEqual([false, false]);
    fundsOf(lasting, 9).forEach(apply);
    look(9);
    expect(process(9, '1')).toEqual([]);
    expect(watched.unreadOrders()).toEqual([]);
    // However long ago the order came: a watcher that catches up skips many blocks.
    expect(process(900, '1')).toEqual([order]);
  });

  test('names a pair whose value came later than a block that was matched, and is older and another one', () => {
    const { watched, apply, lasting, order } = unreadOrder();
    fundsOf(lasting, 5).forEach(apply);
    watched.noteMatched(9);
    fundsOf(lasting, 8).forEach(apply);
    expect(watched.takeOutdated(5)).toEqual([]);
    fundsOf(lasting, 8, '0x2').forEach(apply);
    expect(watched.takeOutdated(5)).toEqual([watched.pairOf(order)]);
    expect(watched.takeOutdated(5)).toEqual([]);
    fundsOf(lasting, 9, '0x3').forEach(apply);
    fundsOf(lasting, 8, '0x4').forEach(apply);
    expect(watched.takeOutdated(5)).toEqual([]);
  });

  test('names an order of a maker of whom more was to follow, and did not', () => {
    const { watched, apply, lasting, order, look } = unreadOrder();
    const [nonce] = fundsOf(lasting, 5) as [MakerEvent];
    apply({ ...nonce, hasMore: true } as MakerEvent);
    expect(watched.takeUnjudged()).toEqual([order]);
    expect(watched.takeUnjudged()).toEqual([]);
    apply({ ...nonce, hasMore: true } as MakerEvent);
    look(5);
    expect(watched.takeUnjudged()).toEqual([]);
  });

  test('knows which orders it knew when it matched a block', () => {
    const { watched, apply, order, look } = unreadOrder();
    expect(watched.matchedOffset(0)).toBe(0n);
    look(5);
    expect(watched.hasMissedMatch(order)).toBe(true);
    watched.noteMatched(6);
    expect(watched.matchedOffset(0)).toBe(2n);
    expect(watched.hasMissedMatch(order)).toBe(false);
    apply(submitted(8));
    expect(watched.matchedOffset(0)).toBe(2n);
  });

  test('keeps nothing of orders that have expired but their makers', () => {
    const watched = new WatchedSet(1);
    for (let n = 0; n < 1000; n += 1) watched.apply(0, submitted(n), BigInt(n));
    watched.apply(0, { type: 'BlockProcessed', block: blockOf(100) }, 1000n);
    expect(watched.sizes()).toEqual({ pairs: 0, makers: 0, orders: 0, hashes: 0 });
    expect(tokens.some((token) => watched.isTokenWatched(token))).toBe(false);
  });
});

/** The nonce of an order's maker and funds for it, as read at a block. */
function fundsOf({ maker, order }: ReturnType<typeof submitted>, block: number, value: Hex = '0x1'): MakerEvent[] {
  const common = { maker, token: order.making.token, block: blockOf(block), cause };
  return [
    { type: 'NonceChanged', maker, nonce: order.nonce, block: blockOf(block), cause },
    { type: 'AllowanceChanged', allowance: value, ...common },
    { type: 'BalanceChanged', balance: value, ...common },
  ];
}

/** An order that lasts, opened behind block 5; `look` says that nothing of it was filled at a block. */
function unreadOrder() {
  const watched = new WatchedSet(1);
  let offset = -1n;
  const apply = (fact: MakerEvent) => {
    offset += 1n;
    return watched.apply(0, fact, offset);
  };
  apply({ type: 'BlockProcessed', block: blockOf(5) });
  const some = submitted(7);
  const lasting = { ...some, order: { ...some.order, expiresAt: '0xffffff' as const } };
  const order = apply(lasting);
  const { maker, orderHash } = lasting;
  const look = (number: number) =>
    apply({
      type: 'OrderFilled',
      maker,
      orderHash,
      filledMakingAmount: '0x0',
      block: blockOf(number),
      cause,
    });
  return { watched, apply, lasting, order, look };
}

class Oracle {
  private readonly makers = new Map<Hex, Maker>(makers.map((maker) => [maker, unknownMaker(maker)]));
  private readonly hashes = rememberHashes();
  private clockSeconds = 0;
  private processedBlock = -1;

  apply(fact: MakerEvent, offset: bigint): void {
    for (const [address, maker] of this.makers) {
      if (fact.type !== 'BlockProcessed' && fact.maker !== address) continue;
      const { clockSeconds, processedBlock } = this;
      const placed = { fact, offset, clockSeconds, processedBlock };
      const evolved = evolve(maker, [placed], { routingGraceSeconds: 60, ...this.hashes });
      this.hashes.note(evolved.transitions);
      this.makers.set(address, evolved.maker);
    }
    if (fact.type !== 'BlockProcessed') return;
    this.clockSeconds = Math.max(this.clockSeconds, fact.block.timestamp);
    this.processedBlock = Math.max(this.processedBlock, fact.block.number);
  }

  /** Orders that the fold holds VALIDATING though their nonce is the chain's: the chain must be asked about them. */
  waiting(): Hex[] {
    return [...this.makers.values()].flatMap(({ orders, nonce, nonceIsWatched }) =>
      [...orders.values()]
        .filter(({ state }) => state.status === 'VALIDATING')
        .filter(({ order }) => !nonceIsWatched || order.nonce === nonce?.value)
        .map(({ orderHash }) => orderHash),
    );
  }

  describe() {
    const lines: string[] = [];
    for (const { maker, orders, funding, nonceIsWatched } of this.makers.values()) {
      if (orders.size > 0) lines.push(`${maker} nonce watched: ${nonceIsWatched}`);
      for (const orderHash of orders.keys()) lines.push(`${maker} ${orderHash}`);
      for (const [token, { balance, allowance }] of funding) {
        lines.push(`${maker} ${token} ${balance?.value} ${allowance?.value}`);
      }
    }
    return lines.sort();
  }
}

function describeWatched(watched: WatchedSet) {
  const lines: string[] = [];
  for (const maker of makers) {
    const slot = watched.findWatchedMaker(maker);
    if (slot >= 0) lines.push(`${watched.makerAddress(slot)} nonce watched: ${watched.isNonceWatched(slot)}`);
    for (const token of tokens) {
      const pair = watched.findPair(token, maker);
      if (pair < 0) continue;
      const { balance, allowance } = watched.funding(pair);
      lines.push(`${maker} ${watched.tokenAddress(pair)} ${balance} ${allowance}`);
    }
  }
  for (let n = 0; n <= 60; n += 1) {
    const order = watched.findOpenOrder(hashOf(n));
    if (order >= 0) {
      lines.push(`${watched.makerAddress(watched.makerOf(watched.pairOf(order)))} ${watched.orderHash(order)}`);
    }
  }
  return lines.sort();
}
