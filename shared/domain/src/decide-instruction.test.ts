import { expect, test } from '@jest/globals';
import type { Address } from '@makerbook/contracts-primitives';
import { decide } from './decide.js';
import { noExits } from './exits.js';
import { FILL_CAPS_MAX } from './fill-caps.js';
import { applyDecisions, draftOf, type Instruction } from './standing.js';
import { addressOf, budget, hashOf, NOW_MS, standingOf } from './testing/standings.js';

const [first, second] = [addressOf(0x1c), addressOf(0x2c)];
const keys = (named: readonly Address[], issuedAtMs: number) => ({
  subject: 'keys',
  issuedAtMs,
  terms: { keys: named },
});
const beat = (cancelAt: number, issuedAtMs: number, key?: Address) => {
  return { subject: 'switch', issuedAtMs, terms: { cancelAt }, ...(key && { key }) };
};
const cap = (token: string, amount: string, issuedAtMs: number) => {
  return { subject: `cap:${token}`, issuedAtMs, terms: { amount, windowSeconds: 60 } };
};

function instruct(standing: Parameters<typeof decide>[0], instruction: Instruction, isRepeat = false, burst = 5) {
  const own = { ...budget, burst };
  const request = {
    kind: 'instruction',
    lastsMs: 9,
    budget: own,
    maker: addressOf(1),
    partition: 3,
    mark: hashOf(1),
  } as const;
  return decide(standing, { ...request, instruction, isRepeat }, NOW_MS);
}

test('the newest instruction on a subject counts, and a revoked key no longer counts', () => {
  const draft = draftOf(standingOf());
  const given: readonly [Instruction, string][] = [
    [beat(9, 10), 'taken'],
    [beat(9, 10), 'taken'],
    [beat(8, 10), 'superseded 9'],
    [beat(7, 9), 'superseded 9'],
    [beat(6, 11, first), 'unavailable'],
    [keys([first, second], 10), 'taken'],
    [beat(6, 11, first), 'taken'],
    [beat(5, 10, second), 'superseded 6'],
    [beat(4, 12, second), 'taken'],
    // The time of a switch by a revoked key no longer counts.
    [keys([first], 11), 'taken'],
    // The same keys, but others may read.
    [{ ...keys([first], 11), terms: { keys: [first], listKeys: [first] } }, 'superseded undefined'],
    [beat(3, 13, second), 'unavailable'],
    [beat(2, 12), 'taken'],
    [cap('0xa', '0x1', 10), 'taken'],
    [cap('0xa', '0x2', 10), 'superseded undefined'],
    [cap('0xa', '0x0', 11), 'taken'],
  ];
  const outcomes = given.map(([instruction]) => {
    const { refusal, decisions } = instruct(draft, instruction, false, 100);
    applyDecisions(draft, decisions, NOW_MS);
    if (refusal === undefined) return 'taken';
    const counts = refusal.counts as { cancelAt?: number } | undefined;
    return refusal.code === 'superseded' ? `superseded ${counts?.cancelAt}` : refusal.code;
  });
  expect(outcomes).toEqual(given.map(([, expected]) => expected));
});

test('only so many tokens may have a cap, and a removed cap takes no place', () => {
  const instructions = Array.from({ length: FILL_CAPS_MAX }, (_, n) => cap(`0x${n}`, '0x1', 10));
  const full = standingOf({ instructions });
  expect(instruct(full, cap('0xff', '0x1', 11)).refusal).toMatchObject({ code: 'invalid_request', pointer: '/token' });
  expect(instruct(full, cap('0xff', '0x0', 11)).refusal).toBeUndefined();
  expect(instruct(full, cap('0x3', '0x5', 11)).refusal).toBeUndefined();
  const removed = standingOf({ instructions: [...instructions.slice(1), cap('0x0', '0x0', 10)] });
  expect(instruct(removed, cap('0xff', '0x1', 11)).refusal).toBeUndefined();
});

test('folded instructions count too, a repeat stores nothing, and nothing is known if rows may be lost', () => {
  const folded = standingOf({ exits: { ...noExits, cancelAt: 7, switchIssuedAtMs: 20 } });
  expect(instruct(folded, beat(1, 19)).refusal).toMatchObject({ counts: { cancelAt: 7, issuedAtMs: 20 } });
  expect(instruct(folded, beat(7, 20), true)).toMatchObject({ decisions: [], isKnown: true, left: { remaining: [5] } });
  expect(instruct(standingOf({ isQuarantined: true }), beat(1, 19)).isKnown).toBe(false);
  expect(instruct(standingOf({}, [], { trustedSinceMs: undefined }), beat(1, 19)).isKnown).toBe(false);
  const spent = standingOf({ cancels: { left: 0, atMs: NOW_MS } });
  expect(instruct(spent, beat(1, 19))).toMatchObject({
    decisions: [],
    refusal: { code: 'rate_limited', retryAfterMs: 500 },
  });
});
