import { describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import { type Maker, type OpenOrder, unknownMaker } from '@makerbook/domain';
import { boundStretch } from './bound-stretch.js';
import { type LoggedFact, readFact } from './read-facts.js';
import { makersOf, orderOf, storedRecord } from './testing/generate-facts.js';

const [maker] = makersOf(0, 1, 1) as [Maker['maker']];
const block = { number: 1, hash: orderOf(maker, 0).orderHash, timestamp: 1 };
const cause = { kind: 'request' as const, requestId: 'r' };
const nonce: MakerEvent = { type: 'NonceChanged', maker, nonce: '0x0', block, cause };
const submitted = (number: number): MakerEvent => ({
  type: 'OrderSubmitted',
  maker,
  ...orderOf(maker, number),
  acceptedAtMs: 0,
  cause,
});
const logged = (facts: MakerEvent[]): LoggedFact[] =>
  facts.map((fact, offset) => readFact(storedRecord(fact, { partition: 0, offset: BigInt(offset) }), 1));
const withOrders = (count: number): ReadonlyMap<Maker['maker'], Maker> => {
  const orders = new Map(Array.from({ length: count }, (_, index) => [`0x${index}` as const, {} as OpenOrder]));
  return new Map([[maker, { ...unknownMaker(maker), orders }]]);
};

describe('the bound on one commit', () => {
  test('facts that touch one order each are taken as they come', () => {
    expect(boundStretch(logged([submitted(1), submitted(2), submitted(3)]), withOrders(1000), 3)).toBe(3);
  });

  test('a read that can change every order of a maker ends the stretch before it', () => {
    expect(boundStretch(logged([submitted(1), nonce, nonce]), withOrders(10), 15)).toBe(2);
    expect(boundStretch(logged([submitted(1), nonce, nonce]), withOrders(10), 12)).toBe(1);
  });

  test('of what was read of a maker the last fact can, and a nonce: the others wait for it', () => {
    const of = { maker, block, cause };
    const funds: MakerEvent = { ...of, type: 'BalanceChanged', token: maker, balance: '0x1' };
    const filled: MakerEvent = { ...of, type: 'OrderFilled', orderHash: block.hash, filledMakingAmount: '0x0' };
    const more = { hasMore: true } as const;
    const group = logged([{ ...funds, ...more }, { ...filled, ...more }, filled, funds]);
    expect(boundStretch(group, withOrders(10), 13)).toBe(3);
    expect(boundStretch(group, withOrders(10), 12)).toBe(2);
    expect(boundStretch(logged([submitted(1), { ...nonce, ...more }]), withOrders(10), 12)).toBe(1);
  });

  test('orders that the stretch itself opens count', () => {
    expect(boundStretch(logged([submitted(1), submitted(2), nonce]), withOrders(0), 4)).toBe(2);
  });

  test('what is due counts with the first block, and not before it', () => {
    const processed: MakerEvent = { type: 'BlockProcessed', block };
    const facts = logged([submitted(1), submitted(2), processed, processed, submitted(3)]);
    expect(boundStretch(facts, withOrders(0), 11, 6)).toBe(5);
    expect(boundStretch(facts, withOrders(0), 11, 10)).toBe(2);
    expect(boundStretch(facts.slice(2), withOrders(0), 11, 10)).toBe(1);
  });

  test('one fact is always taken', () => {
    expect(boundStretch(logged([nonce, nonce]), withOrders(1000), 10)).toBe(1);
  });
});
