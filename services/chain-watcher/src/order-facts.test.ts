import { expect, test } from '@jest/globals';
import type { BlockRef, Cause, Hex, MakerEvent, MakerFact } from '@makerbook/contracts-events';
import { evolve, type Maker, type Transition, unknownMaker } from '@makerbook/domain';
import fc from 'fast-check';
import { WatchedSet } from './keep-watched-set.js';
import { orderFacts } from './order-facts.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const token: Hex = `0x${'b2'.repeat(20)}`;
const cause: Cause = { kind: 'read', occasion: 'ORDER' };
const blockAt = (number: number): BlockRef => ({ number, hash: `0x${'0'.repeat(64)}`, timestamp: number });
const hashes = ['11', '22', '33'].map((byte): Hex => `0x${byte.repeat(32)}`);
const quantity = (value: number): Hex => `0x${value.toString(16)}`;

const submitted = (orderHash: Hex, amount: number): MakerEvent => ({
  type: 'OrderSubmitted',
  maker,
  orderHash,
  order: {
    salt: '0x1',
    nonce: '0x0',
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
const funds = (allowance: number, balance: number, block: BlockRef): MakerFact[] => [
  { type: 'AllowanceChanged', maker, token, allowance: quantity(allowance), block, cause },
  { type: 'BalanceChanged', maker, token, balance: quantity(balance), block, cause },
];

interface Terms {
  readonly amount: number;
  readonly before: number;
  readonly after: number;
}

/** Orders with what was filled of them before a block and after it, and the maker's funds at both. */
const scenes = fc.record({
  orders: fc.array(
    fc
      .record({ amount: fc.integer({ min: 1, max: 8 }), before: fc.nat(7), after: fc.nat(8) })
      .map(({ amount, before, after }): Terms => {
        const known = Math.min(before, amount - 1);
        return { amount, before: known, after: Math.min(Math.max(known, after), amount) };
      }),
    { minLength: 1, maxLength: 3 },
  ),
  before: fc.tuple(fc.nat(8), fc.nat(8)),
  after: fc.tuple(fc.nat(8), fc.nat(8)),
});

function play(scene: { orders: readonly Terms[]; before: [number, number]; after: [number, number] }) {
  const watched = new WatchedSet(1);
  const known: MakerEvent[] = scene.orders.map(({ amount }, n) => submitted(hashes[n] as Hex, amount));
  known.push({ type: 'NonceChanged', maker, nonce: '0x0', block: blockAt(1), cause });
  known.push(...funds(...scene.before, blockAt(1)));
  known.push(...scene.orders.map(({ before }, n) => filled(hashes[n] as Hex, before, blockAt(1))));
  known.push({ type: 'BlockProcessed', block: blockAt(1) });
  for (const fact of known) watched.apply(0, fact);
  const told = [
    ...scene.orders.map(({ after }, n) => filled(hashes[n] as Hex, after, blockAt(2))),
    ...funds(...scene.after, blockAt(2)),
  ];
  const fold = (state: Maker, events: readonly MakerEvent[], processedBlock: number) => {
    const placed = events.map((fact, n) => ({ fact, offset: BigInt(n), clockSeconds: 0, processedBlock }));
    return evolve(state, placed, { routingGraceSeconds: 60, wasRemoved: () => false });
  };
  const { maker: state } = fold(unknownMaker(maker), known, -1);
  return { told, watched, after: (facts: readonly MakerFact[]) => fold(state, facts, 1) };
}

const everActive = (transitions: readonly Transition[]) =>
  new Set(
    transitions.flatMap((transition) =>
      transition.kind === 'OrderChanged' && transition.order.state.status === 'ACTIVE'
        ? [transition.order.orderHash]
        : [],
    ),
  );

test('no order is ACTIVE between the facts of a block that is not ACTIVE behind them, whatever the block did', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const { told, watched, after } = play(scene);
      const { maker: state, transitions } = after(orderFacts(told, watched));
      for (const orderHash of everActive(transitions)) {
        expect(state.orders.get(orderHash)?.state).toEqual({ status: 'ACTIVE' });
      }
    }),
    { numRuns: 2000 },
  );
});

test('it makes no difference in the end, and nothing is left out', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const { told, watched, after } = play(scene);
      const ordered = orderFacts(told, watched);
      expect(new Set(ordered)).toEqual(new Set(told));
      expect(after(ordered).maker.orders).toEqual(after(told).maker.orders);
    }),
  );
});

test('an order that paid for its own fill with its funds is not without funds in between', () => {
  const { told, watched, after } = play({
    orders: [{ amount: 8, before: 0, after: 3 }],
    before: [8, 8],
    after: [5, 5],
  });
  const { transitions } = after(orderFacts(told, watched));
  expect(transitions.map((transition) => 'order' in transition && transition.order.state.status)).toEqual(['ACTIVE']);
});
