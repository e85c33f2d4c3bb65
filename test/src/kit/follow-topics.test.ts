import { describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import { afterTheEnd, type OrderChange, PartitionLog } from './follow-topics.js';

const ref = (number: number) => ({ number, hash: `0x${'bb'.repeat(32)}` as const, timestamp: number });
const block = (number: number): MakerEvent => ({ type: 'BlockProcessed', block: ref(number) });
const observed = (number: number): MakerEvent => ({
  type: 'MakerObserved',
  maker: `0x${'aa'.repeat(20)}`,
  block: ref(number),
  cause: { kind: 'read', occasion: 'ORDER' },
  funds: [],
  orders: [],
});

describe('of a partition counts', () => {
  test.each<[string, readonly MakerEvent[], boolean]>([
    ['a reading at the last processed block', [block(5), observed(5)], true],
    ['a reading at a newer one', [block(5), observed(9)], true],
    ['no reading at an older one', [block(5), observed(4)], false],
    ['no block that is not newer', [block(5), block(5)], false],
  ])('%s', (_, facts, counts) => {
    const log = new PartitionLog();
    const all = facts.map((fact, offset) => log.note(fact, BigInt(offset)));
    expect(all.at(-1)).toBe(counts);
  });

  test('the first message of each block, with its place', () => {
    const log = new PartitionLog();
    const facts = [block(5), block(5), observed(5), block(6)];
    for (const [offset, fact] of facts.entries()) log.note(fact, BigInt(offset));
    expect(log.processed).toEqual([
      { block: 5, offset: 0n },
      { block: 6, offset: 3n },
    ]);
  });
});

describe('after an order has left the feed', () => {
  const gone = (removal: string) =>
    ({ kind: 'removed', removal, id: { offset: 4n, index: 0 } }) as unknown as OrderChange;
  const entry = { kind: 'entry', entry: { status: 'ACTIVE' }, id: { offset: 5n, index: 0 } } as unknown as OrderChange;

  test.each(['CANCELLED', 'CANCELLED_ONCHAIN', 'NONCE_CHANGED', 'FILLED', 'EXPIRED', 'GRACE_PERIOD'])(
    'with %s any message is wrong',
    (removal) => {
      expect(afterTheEnd([entry, gone(removal)], entry)).toMatch(/^ACTIVE .* came after removal/);
      expect(afterTheEnd([gone(removal)], gone('EXPIRED'))).toMatch(/^removal EXPIRED .* came after/);
    },
  );

  test.each(['QUARANTINED', 'SUSPENDED'] as const)('with %s it may come back', (removal) => {
    expect(afterTheEnd([gone(removal)], entry)).toBeUndefined();
    expect(afterTheEnd([entry], gone('FILLED'))).toBeUndefined();
    expect(afterTheEnd([], gone('FILLED'))).toBeUndefined();
  });
});
