import { describe, expect, test } from '@jest/globals';
import { decide } from './decide.js';
import { type Placement, REQUEST_AGE_MS_MAX } from './decide-placement.js';
import type { HashStanding, MakerStanding, Standing } from './standing.js';
import {
  addressOf,
  budget,
  NOW_MS,
  newMaker,
  numbered,
  placementOf,
  placing,
  standingOf,
} from './testing/standings.js';

const accepted: HashStanding = { remembered: 'ACCEPTED' };
const expired = numbered(9, { expiresAt: BigInt(NOW_MS / 1000) });
const byOther = (number: number) => numbered(number, { maker: addressOf(2) });

/** Tells the answer, what is left of the maker's budget if charged, and what the client's address is charged. */
function judge(standing: Standing, request: Placement): string {
  const { refusal, decisions, ofClient } = decide(standing, request, NOW_MS);
  const charge = decisions.find(({ kind }) => kind === 'charge');
  const left = charge?.kind === 'charge' ? ` left ${charge.tokens.left}` : '';
  const placed = decisions.filter(({ kind }) => kind === 'place').length;
  const answer = refusal === undefined ? `placed ${placed}` : `${refusal.code} ${refusal.index}`;
  return `${answer}${left}${ofClient > 0 ? ` client ${ofClient}` : ''}`;
}

type Given = readonly [
  what: string,
  maker: Partial<MakerStanding>,
  hashes: readonly (readonly [number, HashStanding])[],
  orders: Placement['orders'],
  expected: string,
];

describe('orders', () => {
  test.each<Given>([
    ['that are new are placed, and charged', {}, [], [numbered(1), numbered(2)], 'placed 2 left 3'],
    [
      'that are known are charged to the client',
      {},
      [[2, accepted]],
      [numbered(1), numbered(2)],
      'duplicate 1 left 4 client 1',
    ],
    [
      'that were cancelled first are known',
      {},
      [[1, { remembered: 'CANCELLED' }]],
      [numbered(1)],
      'duplicate 0 client 1',
    ],
    ['that are repeated are charged as often', {}, [], [numbered(1), numbered(1)], 'duplicate 1 left 3'],
    [
      'in flight charge nobody',
      {},
      [[2, { inFlight: { expiresAtSeconds: 9 } }]],
      [numbered(1), numbered(2)],
      'unavailable 1',
    ],
    ['being cancelled likewise', {}, [[1, { isCancelling: true }]], [numbered(1)], 'unavailable 0'],
    [
      'known before one in flight come first',
      {},
      [
        [1, accepted],
        [2, { isCancelling: true }],
      ],
      [numbered(1), numbered(2)],
      'duplicate 0 left 4 client 1',
    ],
    ['that have expired are charged to the client', {}, [], [numbered(1), expired], 'order_expired 1 left 4 client 1'],
    [
      'expired beside one in flight',
      {},
      [[1, { inFlight: { expiresAtSeconds: 9 } }]],
      [numbered(1), expired],
      'order_expired 1 client 2',
    ],
    ['that have all expired are charged to nobody else', {}, [], [expired], 'order_expired 0 client 1'],
    ['expired beside known ones', {}, [[1, accepted]], [numbered(1), expired], 'order_expired 1 client 2'],
    [
      'told unknown after they were received',
      {},
      [[1, { notedUntilMs: NOW_MS }]],
      [numbered(1)],
      'order_cancelled 0 left 4',
    ],
    ['told unknown before', {}, [[1, { notedUntilMs: NOW_MS - 11 }]], [numbered(1)], 'placed 1 left 4'],
    [
      'told unknown at that moment',
      {},
      [[1, { notedUntilMs: NOW_MS - 10 }]],
      [numbered(1)],
      'order_cancelled 0 left 4',
    ],
    ['below the nonce of the rows are free', { nonce: 6n }, [], [numbered(1)], 'order_cancelled 0'],
    ['beyond what the budget holds when full', {}, [], [1, 2, 3, 4, 5, 6].map((n) => numbered(n)), 'too_many_orders 5'],
    [
      'beyond what it holds now',
      { orders: { left: 1, atMs: NOW_MS } },
      [],
      [numbered(1), numbered(2)],
      'rate_limited 1',
    ],
    [
      'after the budget has filled',
      { orders: { left: 1, atMs: NOW_MS - 500 } },
      [],
      [numbered(1), numbered(2)],
      'placed 2 left 0',
    ],
    ['by a clock that was set back', { orders: { left: 1, atMs: NOW_MS + 500 } }, [], [numbered(1)], 'placed 1 left 0'],
    [
      'beyond the open ones and those in flight',
      { open: 98, inFlight: 1 },
      [],
      [numbered(1), numbered(2)],
      'too_many_orders 1 left 3',
    ],
    ['in the place of expired ones', { open: 100, expired: 1 }, [], [numbered(1)], 'placed 1 left 4'],
    [
      'beyond what is remembered',
      { remembered: 998, inFlight: 1, onTheirWay: 1 },
      [],
      [numbered(1), numbered(2)],
      'too_many_orders 1 left 3',
    ],
    [
      'beyond that with what nobody has placed and is being cancelled',
      { remembered: 997, onTheirWay: 3 },
      [],
      [numbered(1)],
      'too_many_orders 0 left 4',
    ],
    ['of a maker in quarantine', { isQuarantined: true }, [], [numbered(1)], 'unavailable 0'],
  ])('%s', (_what, maker, hashes, orders, expected) => {
    expect(judge(standingOf(maker, hashes), placementOf(orders))).toBe(expected);
  });

  test('of several makers are charged all or none, and the lowest index is named', () => {
    const orders = [byOther(1), numbered(2), numbered(3), byOther(4)];
    const { decisions } = decide(standingOf(), placementOf(orders), NOW_MS);
    expect(decisions.map(({ kind, maker }) => `${kind} ${Number(maker)}`)).toEqual([
      ...['charge 1', 'charge 2', 'place 2', 'place 1', 'place 1', 'place 2'],
    ]);
    const spent = standingOf({ orders: { left: 0, atMs: NOW_MS } });
    expect(decide(spent, placementOf(orders), NOW_MS)).toMatchObject({
      decisions: [],
      refusal: { code: 'rate_limited', index: 1, retryAfterMs: 1_000 },
      left: { remaining: [0, 5] },
    });
  });

  test('of several makers can be sent again once all budgets allow them', () => {
    const own = { orders: { left: 0, atMs: NOW_MS } };
    const makers = new Map([1, 2].map((number) => [addressOf(number), { ...newMaker, ...own }]));
    const orders = [numbered(1), ...[2, 3, 4].map((number) => numbered(number, { maker: addressOf(2) }))];
    const { refusal } = decide(standingOf({}, [], { makers }), placementOf(orders), NOW_MS);
    expect(refusal).toMatchObject({ code: 'rate_limited', index: 0, retryAfterMs: 1_500 });
  });

  test('are refused while rows may be lost, and if their request came before the rows were trusted', () => {
    const untrusted = { code: 'unavailable', cause: 'untrusted' };
    for (const trustedSinceMs of [undefined, NOW_MS - 10])
      expect(decide(standingOf({}, [], { trustedSinceMs }), placementOf([numbered(1)]), NOW_MS).refusal).toMatchObject(
        untrusted,
      );
    const since = { trustedSinceMs: NOW_MS - 11 };
    expect(judge(standingOf({}, [], since), placementOf([numbered(1)]))).toBe('placed 1 left 4');
  });

  test('are not placed if their request is too old: a note may be forgotten by then', () => {
    const aged = (ageMs: number) => judge(standingOf(), placementOf([numbered(1)], { receivedAtMs: NOW_MS - ageMs }));
    expect([aged(REQUEST_AGE_MS_MAX), aged(REQUEST_AGE_MS_MAX + 1)]).toEqual([
      'placed 1 left 4',
      'unavailable undefined',
    ]);
  });

  test('after Valid-Until are refused, and stored ones are reported as duplicates', () => {
    const late = (hash: HashStanding) =>
      judge(standingOf({}, [[1, hash]]), placementOf([numbered(1)], { validUntilMs: NOW_MS - 1 }));
    expect(
      [accepted, { remembered: 'UNFOLDED' } as const, { inFlight: { expiresAtSeconds: 9 } }, {}].map(late),
    ).toEqual([...['duplicate 0', 'duplicate 0', 'valid_until_passed undefined', 'valid_until_passed undefined']]);
    expect(judge(standingOf(), placementOf([numbered(1)], { validUntilMs: NOW_MS }))).toBe('placed 1 left 4');
  });

  test('below the nonce of the feed are refused, for that maker alone', () => {
    const makers = [1, 2].map((n) => ({ ...placing, maker: addressOf(n), budget, nonce: n === 1 ? 6n : undefined }));
    const request = placementOf([byOther(2), numbered(1)], { makers });
    expect(judge(standingOf(), request)).toBe('order_cancelled 1 left 4 client 1');
  });
});
