import { describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { decide } from './decide.js';
import type { CancelAll, Cancellation, Replacement } from './decide-cancellation.js';
import { applyDecisions, draftOf, type HashStanding, type MakerStanding, type Standing } from './standing.js';
import {
  addressOf,
  budget,
  hashOf,
  NOW_MS,
  newMaker,
  numbered,
  placementOf,
  placing,
  standingOf,
} from './testing/standings.js';
import type { Verdict } from './verdict.js';

const own = { maker: addressOf(1), partition: 3, budget };
const cancelOf = (...numbers: number[]) => numbers.map((number) => ({ ...own, orderHash: hashOf(number) }));
const amounts = { making: 100n, remaining: 40n, expiresAtSeconds: NOW_MS / 1000 + 60 };
const open: HashStanding = { remembered: 'ACCEPTED', order: { ...amounts, remaining: 100n } };
const filled: HashStanding = { remembered: 'ACCEPTED', order: amounts };
const inFlight: HashStanding = { inFlight: { expiresAtSeconds: amounts.expiresAtSeconds } };

/** Tells the answer and what is stored: charges with what they leave, and the numbers of marks and orders. */
function told({ refusal, decisions }: Verdict): string {
  const charges = decisions.flatMap((one) => (one.kind === 'charge' ? [`${one.of} ${one.tokens.left}`] : []));
  const marks = decisions.filter(({ kind }) => kind === 'mark').length;
  const placed = decisions.filter(({ kind }) => kind === 'place').length;
  return [
    refusal === undefined ? 'stored' : `${refusal.code} ${refusal.index}`,
    ...charges,
    `${marks} marks`,
    `${placed} placed`,
  ].join(', ');
}

describe('cancellations', () => {
  const cancel = (standing: Standing, more: Partial<Cancellation>) =>
    decide(
      standing,
      { kind: 'cancellation', lastsMs: 9, hashes: [], unplaced: [], rememberedMax: 100, ...more },
      NOW_MS,
    );
  const unplacedOf = (...numbers: number[]) => cancelOf(...numbers).map((hash) => ({ ...hash, ordersBudget: budget }));

  test.each<[string, Partial<MakerStanding>, Partial<Cancellation>, string]>([
    [
      'of more orders than a full budget holds take all of it',
      {},
      { hashes: cancelOf(1, 2, 3, 4, 5, 6) },
      'stored, cancels 0, 6 marks, 0 placed',
    ],
    [
      'of so many are refused where it is not full',
      { cancels: { left: 4, atMs: NOW_MS } },
      { hashes: cancelOf(1, 2, 3, 4, 5, 6) },
      'rate_limited 0, 0 marks, 0 placed',
    ],
    ['are charged and marked', {}, { hashes: cancelOf(1, 2) }, 'stored, cancels 3, 2 marks, 0 placed'],
    [
      'are refused all where the budget is spent',
      { cancels: { left: 1, atMs: NOW_MS } },
      { hashes: cancelOf(1, 2) },
      'rate_limited 0, 0 marks, 0 placed',
    ],
    [
      'of nobody’s hashes are charged like orders',
      {},
      { unplaced: unplacedOf(7, 8) },
      'stored, orders 3, 2 marks, 0 placed',
    ],
    [
      'of nobody’s hashes, beyond the bound, are charged',
      { remembered: 98, onTheirWay: 1 },
      { unplaced: unplacedOf(7, 8) },
      'too_many_orders undefined, orders 3, 0 marks, 0 placed',
    ],
    [
      'of nobody’s hashes, beyond the budget, are not',
      { orders: { left: 1, atMs: NOW_MS } },
      { unplaced: unplacedOf(7, 8) },
      'rate_limited undefined, 0 marks, 0 placed',
    ],
    [
      'of known hashes among them are free',
      { remembered: 100 },
      { unplaced: unplacedOf(3) },
      'stored, orders 5, 1 marks, 0 placed',
    ],
    [
      'of both kinds are stored all or none',
      { cancels: { left: 0, atMs: NOW_MS } },
      { hashes: cancelOf(1), unplaced: unplacedOf(7) },
      'rate_limited 0, orders 4, 0 marks, 0 placed',
    ],
  ])('%s', (_what, maker, more, expected) => {
    const hashes = [
      [1, open],
      [2, inFlight],
      [3, { isCancelling: true }],
    ] as const;
    expect(told(cancel(standingOf(maker, hashes), more))).toBe(expected);
  });
});

test('cancellations of several makers can be sent again once all budgets allow them', () => {
  const slow = { maker: addressOf(2), partition: 3, budget: { ratePerSecond: 1, burst: 5 } };
  const hashes = [...cancelOf(1, 2), ...[11, 12, 13].map((number) => ({ ...slow, orderHash: hashOf(number) }))];
  const spent = { cancels: { left: 0, atMs: NOW_MS } };
  const makers = new Map([own, slow].map(({ maker }) => [maker, { ...newMaker, ...spent }]));
  const request = { kind: 'cancellation', lastsMs: 9, hashes, unplaced: [], rememberedMax: 100 } as const;
  const { refusal } = decide(standingOf({}, [], { makers }), request, NOW_MS);
  expect(refusal).toMatchObject({ code: 'rate_limited', index: 0, retryAfterMs: 3_000 });
});

describe('a cancellation of all orders', () => {
  const [a, b] = [addressOf(0xa), addressOf(0xb)];
  const listed = [
    { orderHash: hashOf(1), making: a, taking: b, acceptedAtMs: NOW_MS },
    { orderHash: hashOf(2), making: b, taking: a, acceptedAtMs: NOW_MS },
    { orderHash: hashOf(3), making: a, taking: b, acceptedAtMs: NOW_MS + 1 },
  ];
  const all = (scope: Partial<CancelAll['scope']>, burst = 1_000): Verdict => {
    const request = { kind: 'cancel-all', lastsMs: 9, ...own, budget: { ...budget, burst }, mark: hashOf(99) } as const;
    return decide(standingOf({ listed }), { ...request, scope: { untilMs: NOW_MS, ...scope } }, NOW_MS);
  };
  const marked = ({ decisions }: Verdict) =>
    decisions.flatMap((one) => (one.kind === 'mark' ? [Number(one.orderHash)] : []));

  test('costs as much as a hundred, and marks itself and the orders in its scope', () => {
    expect(told(all({}))).toBe('stored, cancels 900, 3 marks, 0 placed');
    expect(marked(all({}))).toEqual([99, 1, 2]);
    expect(marked(all({ making: a }))).toEqual([99, 1]);
    expect(marked(all({ taking: a, untilMs: NOW_MS + 1 }))).toEqual([99, 2]);
    expect(told(all({}, 99))).toBe('rate_limited undefined, 0 marks, 0 placed');
  });

  test('marks no order that an earlier request has already marked', () => {
    const request = {
      kind: 'cancel-all',
      lastsMs: 9,
      ...own,
      budget: { ...budget, burst: 1_000 },
      mark: hashOf(99),
    } as const;
    const draft = draftOf(standingOf({ listed }));
    const ask = (untilMs: number) => decide(draft, { ...request, scope: { untilMs } }, NOW_MS);
    applyDecisions(draft, ask(NOW_MS).decisions, NOW_MS);
    expect(marked(ask(NOW_MS + 1))).toEqual([99, 3]);
  });
});

describe('a replacement', () => {
  const replace = (standing: Standing, more: Partial<Replacement> = {}) => {
    const expected = [{ orderHash: hashOf(1) }, { orderHash: hashOf(2) }];
    const placement = placementOf([numbered(5)], { makers: [{ ...placing, budget, openOrdersMax: 2 }] });
    const request: Replacement = { kind: 'replacement', placement, cancels: cancelOf(1, 2), expected, ...more };
    return decide(standing, request, NOW_MS);
  };
  const of = (first: HashStanding, second: HashStanding, maker: Partial<MakerStanding> = {}) =>
    standingOf({ open: 1, inFlight: 1, ...maker }, [
      [1, first],
      [2, second],
    ]);

  test.each<[string, Standing, string]>([
    ['is judged by what its cancellations leave', of(open, inFlight), 'stored, cancels 3, orders 4, 2 marks, 1 placed'],
    [
      'of an order whose fill it does not know is refused, and charged',
      of(filled, open),
      'remaining_changed 0, cancels 3, 0 marks, 0 placed',
    ],
    [
      'of an order that another request cancels is refused',
      of({ ...open, isCancelling: true }, open),
      'unavailable undefined, 0 marks, 0 placed',
    ],
    [
      'of an order that is not open any more likewise',
      of({ remembered: 'ACCEPTED' }, open),
      'unavailable undefined, 0 marks, 0 placed',
    ],
    [
      'of an order in flight whose cancellation came first likewise',
      of({ ...inFlight, remembered: 'CANCELLED' }, open),
      'unavailable undefined, 0 marks, 0 placed',
    ],
    [
      'beyond the budget of cancellations',
      of(open, open, { cancels: { left: 1, atMs: NOW_MS } }),
      'rate_limited 0, 0 marks, 0 placed',
    ],
    [
      'beyond that of orders pays for its cancellations',
      of(open, open, { orders: { left: 0, atMs: NOW_MS } }),
      'rate_limited 0, cancels 3, 0 marks, 0 placed',
    ],
    [
      'beyond the open orders cancels none',
      of(open, open, { open: 4 }),
      'too_many_orders 0, cancels 3, orders 4, 0 marks, 0 placed',
    ],
  ])('%s', (_what, standing, expected) => {
    expect(told(replace(standing))).toBe(expected);
  });

  test('states what is left, and is stored only if that is true', () => {
    const remaining = 40n;
    const expected = [
      { orderHash: hashOf(2) },
      { orderHash: hashOf(1), remaining },
      { orderHash: hashOf(1), remaining: 41n },
    ];
    const { refusal } = replace(of(filled, inFlight), { expected });
    expect(refusal).toMatchObject({
      index: 2,
      list: 'cancel',
      pointer: '/remainingMakingAmount',
      remainingMakingAmount: '0x28',
    });
    const { decisions } = replace(of(filled, inFlight), { expected: expected.slice(0, 2) });
    const only = decisions.flatMap((one) => (one.kind === 'mark' ? [one.onlyWith] : []));
    expect(only).toEqual([40n, 'in flight']);
  });

  test.each<[string, bigint | undefined, HashStanding, string]>([
    ['nothing of which is filled', undefined, open, 'stored'],
    ['of which as much is left as it says', 140n, filled, 'stored'],
    ['a fill of which it does not know', undefined, filled, 'remaining_changed 0x8c'],
    ['of which less is left', 200n, filled, 'remaining_changed 0x8c'],
    ['one of which is on its way', undefined, inFlight, 'stored'],
    ['one of which is on its way, and how much is left', 200n, inFlight, 'unavailable undefined'],
  ])('by salts, of orders %s', (_what, ofAll, second, expected) => {
    const { refusal } = replace(of(open, second), { expected: { ofAll } });
    const { code, remainingMakingAmount, index, pointer = '/remainingMakingAmount' } = refusal ?? {};
    expect(refusal === undefined ? 'stored' : `${code} ${remainingMakingAmount}`).toBe(expected);
    expect([index, pointer]).toEqual([undefined, '/remainingMakingAmount']);
  });

  test('that is stored once is not stored again', () => {
    const standing = draftOf(of(open, open, { open: 2, inFlight: 0 }));
    applyDecisions(standing, replace(standing).decisions, NOW_MS);
    expect(standing.makers.get(addressOf(1))).toMatchObject({ open: 0, inFlight: 1 });
    expect(replace(standing).refusal).toMatchObject({ code: 'unavailable' });
    const again = placementOf([numbered(5)]);
    expect(decide(standing, again, NOW_MS).refusal).toMatchObject({
      code: 'unavailable',
      cause: 'in_flight' satisfies string,
    });
    const key: Hex = addressOf(1);
    expect(standing.makers.get(key)?.cancels.left).toBe(3);
  });
});
