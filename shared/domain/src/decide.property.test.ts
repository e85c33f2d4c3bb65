import { expect, test } from '@jest/globals';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import fc from 'fast-check';
import { type DecidedRequest, decide } from './decide.js';
import { applyDecisions, type Decision, type Draft, draftOf, type HashStanding, type Standing } from './standing.js';
import { addressOf, hashOf, NOW_MS, newMaker, numbered, placementOf, placing } from './testing/standings.js';

const MAKERS = [1, 2, 3];
const HASHES = 24;
const OPEN_MAX = 6;
const REMEMBERED_MAX = 4;
const budget = { ratePerSecond: 2, burst: 5 };
const cancelBudget = { ratePerSecond: 1, burst: 8 };
const makerOfNumber = (number: number) => addressOf(MAKERS[number % MAKERS.length] ?? 1);
const keyOf = (number: number) => ({
  maker: makerOfNumber(number),
  partition: 3,
  orderHash: hashOf(number),
  budget: cancelBudget,
});

const order = fc.record({
  number: fc.nat(HASHES - 1),
  nonce: fc.constantFrom(3n, 5n, 5n),
  expiresIn: fc.constantFrom(-1, 5, 60, 60),
});
type DrawnOrder = typeof order extends fc.Arbitrary<infer T> ? T : never;
const orders = fc.array(order, { minLength: 1, maxLength: 4 });
const numbers = fc.uniqueArray(fc.nat(HASHES - 1), { minLength: 1, maxLength: 3 });

/** A request, before its times are set. */
const drawn = fc.oneof(
  fc.record({ kind: fc.constant('place' as const), orders, ageMs: fc.constantFrom(0, 10, 30_000) }),
  fc.record({ kind: fc.constant('cancel' as const), numbers, isUnplaced: fc.boolean() }),
  fc.record({ kind: fc.constant('replace' as const), numbers, orders, left: fc.constantFrom(undefined, 40n) }),
  fc.record({ kind: fc.constant('all' as const), number: fc.nat(2) }),
);

function requestOf(asked: typeof drawn extends fc.Arbitrary<infer T> ? T : never, nowMs: number): DecidedRequest {
  const lastsMs = 8_000;
  const place = (all: readonly DrawnOrder[], ageMs: number) => {
    const terms = all.map(({ number, nonce, expiresIn }) => {
      const expiresAt = BigInt(Math.floor(nowMs / 1000) + expiresIn);
      return numbered(number, { maker: makerOfNumber(number), nonce, expiresAt });
    });
    const makers = [...new Set(terms.map((one) => one.order.maker))].sort();
    const limits = makers.map((maker) => ({ ...placing, maker, budget, openOrdersMax: OPEN_MAX }));
    return placementOf(terms, { makers: limits, receivedAtMs: nowMs - ageMs, rememberedMax: REMEMBERED_MAX });
  };
  switch (asked.kind) {
    case 'place':
      return place(asked.orders, asked.ageMs);
    case 'cancel': {
      const keys = asked.numbers.map(keyOf);
      const unplaced = keys.map((key) => ({ ...key, ordersBudget: budget }));
      const hashes = asked.isUnplaced ? { hashes: [], unplaced } : { hashes: keys, unplaced: [] };
      return { kind: 'cancellation', lastsMs, ...hashes, rememberedMax: REMEMBERED_MAX };
    }
    case 'replace': {
      const cancels = asked.numbers.map(keyOf).filter((key, _, [first]) => key.maker === first?.maker);
      const expected = cancels.map(({ orderHash }) => ({ orderHash, remaining: asked.left }));
      return { kind: 'replacement', placement: place(asked.orders, 0), cancels, expected };
    }
    case 'all': {
      const own = { maker: makerOfNumber(asked.number), partition: 3, mark: hashOf(1_000 + asked.number) };
      return {
        kind: 'cancel-all',
        lastsMs,
        budget: { ...cancelBudget, burst: 150 },
        ...own,
        scope: { untilMs: nowMs },
      };
    }
  }
}

const hash: fc.Arbitrary<HashStanding> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.constantFrom<HashStanding>(
    { remembered: 'ACCEPTED' },
    { remembered: 'CANCELLED' },
    { remembered: 'ACCEPTED', order: { making: 100n, remaining: 40n, expiresAtSeconds: NOW_MS / 1000 + 60 } },
    { notedUntilMs: NOW_MS - 5 },
    { isCancelling: true },
  ),
);

const standings: fc.Arbitrary<Standing> = fc
  .record({
    hashes: fc.array(hash, { minLength: HASHES, maxLength: HASHES }),
    isQuarantined: fc.array(fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)), {
      minLength: 3,
      maxLength: 3,
    }),
    trustedSinceMs: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.constant(undefined)),
  })
  .map(({ hashes, isQuarantined, trustedSinceMs }) => {
    const ofMaker = (maker: Address) => hashes.filter((_, number) => makerOfNumber(number) === maker);
    const makers = MAKERS.map((n, at) => {
      const own = ofMaker(addressOf(n));
      const open = own.filter((one) => one.order !== undefined).length;
      const remembered = own.filter((one) => one.remembered !== undefined).length;
      return [
        addressOf(n),
        { ...newMaker, nonce: 4n, open, remembered, isQuarantined: isQuarantined[at] === true },
      ] as const;
    });
    return {
      trustedSinceMs,
      makers: new Map(makers),
      hashes: new Map(hashes.map((one, number) => [hashOf(number), one])),
    };
  });

type Written = { readonly decisions: readonly Decision[]; readonly nowMs: number };

/** Expects that no span of time takes more from a budget than its burst and what fills meanwhile. */
function expectWithinBudget(written: readonly Written[], maker: Address): void {
  const placed = written.flatMap(({ decisions, nowMs }) =>
    decisions.flatMap((one) => (one.kind === 'place' && one.maker === maker ? [nowMs] : [])),
  );
  for (const [first, fromMs] of placed.entries()) {
    for (const [more, untilMs] of placed.slice(first).entries()) {
      const held = budget.burst + ((untilMs - fromMs) * budget.ratePerSecond) / 1000;
      expect(more + 1).toBeLessThanOrEqual(held + 0.001);
    }
  }
}

function expectSound(draft: Draft, decisions: readonly Decision[], isRefused: boolean): void {
  const charged = new Set(decisions.flatMap((one) => (one.kind === 'charge' ? [`${one.maker} ${one.of}`] : [])));
  for (const one of decisions) {
    if (one.kind === 'charge') expect(one.tokens.left).toBeGreaterThan(-0.001);
    else
      expect([isRefused, charged.has(`${one.maker} orders`) || charged.has(`${one.maker} cancels`)]).toEqual([
        false,
        true,
      ]);
    if (one.kind !== 'place') continue;
    const { remembered, inFlight, isCancelling } = draft.hashes.get(one.orderHash) ?? {};
    expect([draft.trustedSinceMs, draft.makers.get(one.maker)?.isQuarantined]).toEqual([0, false]);
    expect([remembered, inFlight, isCancelling ?? false]).toEqual([undefined, undefined, false]);
  }
}

test('whatever is asked, a hash is placed once, no limit is exceeded, and a refusal stores only charges', () => {
  fc.assert(
    fc.property(standings, fc.array(fc.tuple(drawn, fc.nat(1_500)), { maxLength: 40 }), (standing, asked) => {
      const draft = draftOf(standing);
      const before = new Map([...draft.makers].map(([maker, { open, inFlight }]) => [maker, open + inFlight]));
      const written: Written[] = [];
      const placed = new Set<Hex>();
      let nowMs = NOW_MS;
      for (const [one, passedMs] of asked) {
        nowMs += passedMs;
        const request = requestOf(one, nowMs);
        const copy = draftOf(draft);
        const { decisions, refusal } = decide(draft, request, nowMs);
        expect(decide(copy, request, nowMs)).toEqual({ ...decide(draft, request, nowMs) });
        expect(draft).toEqual(copy);
        expectSound(draft, decisions, refusal !== undefined);
        for (const { kind, orderHash } of decisions.flatMap((each) => (each.kind === 'charge' ? [] : [each]))) {
          if (kind !== 'place') continue;
          expect(placed.has(orderHash)).toBe(false);
          placed.add(orderHash);
        }
        applyDecisions(draft, decisions, nowMs);
        written.push({ decisions, nowMs });
        for (const { maker } of decisions.filter(({ kind }) => kind === 'place')) {
          const { remembered = 0, onTheirWay = 0 } = draft.makers.get(maker) ?? {};
          expect(remembered + onTheirWay).toBeLessThanOrEqual(REMEMBERED_MAX);
        }
        for (const [maker, { open, inFlight }] of draft.makers)
          expect(open + inFlight).toBeLessThanOrEqual(Math.max(OPEN_MAX, before.get(maker) ?? 0));
      }
      for (const maker of draft.makers.keys()) expectWithinBudget(written, maker);
    }),
    { numRuns: 150 },
  );
});
