import { expect, test } from '@jest/globals';
import type { BlockRef, Cause, Hex, MakerEvent, MakerFact } from '@makerbook/contracts-events';
import { evolve, type Maker, rememberHashes, type Transition, unknownMaker } from '@makerbook/domain';
import fc from 'fast-check';
import { groupFacts } from './group-facts.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const token: Hex = `0x${'b2'.repeat(20)}`;
const cause: Cause = { kind: 'read', occasion: 'ORDER' };
const blockAt = (number: number): BlockRef => ({ number, hash: `0x${'0'.repeat(64)}`, timestamp: number });
const hashes = ['11', '22', '33'].map((byte): Hex => `0x${byte.repeat(32)}`);
const quantity = (value: number): Hex => `0x${value.toString(16)}`;

const submitted = (orderHash: Hex, amount: number, nonce: number): MakerEvent => ({
  type: 'OrderSubmitted',
  maker,
  orderHash,
  order: {
    salt: '0x1',
    nonce: quantity(nonce),
    expiresAt: '0xffffff',
    making: { token, amount: quantity(amount) },
    taking: { token: `0x${'c3'.repeat(20)}`, amount: '0x1' },
    maker,
    permittedTaker: `0x${'0'.repeat(40)}`,
  },
  signature: `0x${'0'.repeat(130)}`,
  acceptedAtMs: 0,
  cause,
});
const filled = (orderHash: Hex, amount: number, block: BlockRef): MakerFact => {
  return { type: 'OrderFilled', maker, orderHash, filledMakingAmount: quantity(amount), block, cause };
};
const cancelled = (orderHash: Hex, block: BlockRef): MakerFact => ({
  type: 'OrderCancelledOnChain',
  maker,
  orderHash,
  block,
  cause,
});
const nonceOf = (nonce: number, block: BlockRef): MakerFact => ({
  type: 'NonceChanged',
  maker,
  nonce: quantity(nonce),
  block,
  cause,
});
const funds = (allowance: number, balance: number, block: BlockRef): MakerFact[] => [
  { type: 'AllowanceChanged', maker, token, allowance: quantity(allowance), block, cause },
  { type: 'BalanceChanged', maker, token, balance: quantity(balance), block, cause },
];

interface Terms {
  readonly amount: number;
  /** Filled before the block, and after it. */
  readonly before: number;
  readonly after: number;
  readonly nonce: number;
  readonly isCancelled: boolean;
  /** Whether it was read before the block, or is read with it. */
  readonly isRead: boolean;
}

/** Orders, what a block did to them, and the maker's nonce and funds before and after it; what it touched, in any order. */
const scenes = fc.record({
  orders: fc.array(
    fc
      .record({
        amount: fc.integer({ min: 1, max: 8 }),
        before: fc.nat(7),
        after: fc.nat(8),
        nonce: fc.nat(1),
        isCancelled: fc.boolean(),
        isRead: fc.boolean(),
      })
      .map((terms): Terms => {
        const before = Math.min(terms.before, terms.amount - 1);
        return { ...terms, before, after: Math.min(Math.max(before, terms.after), terms.amount) };
      }),
    { minLength: 1, maxLength: 3 },
  ),
  nonces: fc.constantFrom<[number, number]>([0, 0], [0, 1], [1, 1]),
  before: fc.tuple(fc.nat(8), fc.nat(8)),
  after: fc.tuple(fc.nat(8), fc.nat(8)),
  shuffle: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
});

function play({ orders, nonces, before, after, shuffle }: typeof scenes extends fc.Arbitrary<infer S> ? S : never) {
  const known: MakerEvent[] = orders.map(({ amount, nonce }, n) => submitted(hashes[n] as Hex, amount, nonce));
  known.push(nonceOf(nonces[0], blockAt(1)), ...funds(...before, blockAt(1)));
  for (const [n, each] of orders.entries()) {
    if (each.isRead) known.push(filled(hashes[n] as Hex, each.before, blockAt(1)));
  }
  known.push({ type: 'BlockProcessed', block: blockAt(1) });
  const told = [
    ...orders.flatMap((each, n) => [
      filled(hashes[n] as Hex, each.after, blockAt(2)),
      ...(each.isCancelled ? [cancelled(hashes[n] as Hex, blockAt(2))] : []),
    ]),
    nonceOf(nonces[1], blockAt(2)),
    ...funds(...after, blockAt(2)),
  ]
    .map((fact, n) => ({ fact, place: shuffle[n] ?? 0 }))
    .sort((a, b) => a.place - b.place)
    .map(({ fact }) => fact);
  const fold = (state: Maker, events: readonly MakerEvent[], processedBlock: number) => {
    const placed = events.map((fact, n) => ({ fact, offset: BigInt(n), clockSeconds: 0, processedBlock }));
    return evolve(state, placed, { routingGraceSeconds: 60, ...rememberHashes() });
  };
  const { maker: state } = fold(unknownMaker(maker), known, -1);
  return { told, before: state, after: (facts: readonly MakerFact[]) => fold(state, facts, 1) };
}

const statusesOf = (transitions: readonly Transition[], orderHash: Hex): string[] =>
  transitions.flatMap((transition) =>
    'order' in transition && transition.order.orderHash === orderHash && transition.kind !== 'OrderObserved'
      ? [transition.kind === 'OrderRemoved' ? 'REMOVED' : transition.order.state.status]
      : [],
  );

test('an order changes once by what a block did, to what it is in the end, however much that was', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const { told, before, after } = play(scene);
      const { maker: state, transitions } = after(groupFacts(told).flat());
      for (const orderHash of before.orders.keys()) {
        const statuses = statusesOf(transitions, orderHash);
        expect(statuses.length).toBeLessThanOrEqual(1);
        const last = state.orders.get(orderHash)?.state.status ?? 'REMOVED';
        expect(statuses.at(-1) ?? before.orders.get(orderHash)?.state.status).toBe(last);
      }
    }),
    { numRuns: 3000 },
  );
});

test('nothing is left out, and each maker’s facts stand together, all but the last with more to come', () => {
  const other: Hex = `0x${'e5'.repeat(20)}`;
  const [allowance, balance] = funds(1, 2, blockAt(2)) as [MakerFact, MakerFact];
  const facts: MakerFact[] = [
    filled(hashes[0] as Hex, 1, blockAt(2)),
    { ...balance, maker: other },
    cancelled(hashes[1] as Hex, blockAt(2)),
    allowance,
    balance,
    nonceOf(1, blockAt(2)),
  ];
  expect(groupFacts(facts)).toEqual([
    [
      cancelled(hashes[1] as Hex, blockAt(2)),
      { ...nonceOf(1, blockAt(2)), hasMore: true },
      { ...allowance, hasMore: true },
      { ...balance, hasMore: true },
      filled(hashes[0] as Hex, 1, blockAt(2)),
    ],
    [{ ...balance, maker: other }],
  ]);
});
