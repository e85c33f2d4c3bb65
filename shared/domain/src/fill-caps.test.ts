import { describe, expect, test } from '@jest/globals';
import type { FillCapSet } from '@makerbook/contracts-events';
import { type Address, quantity } from '@makerbook/contracts-primitives';
import { cappedUntil, countFill, FILL_CAPS_MAX, type FillCap, setFillCap } from './fill-caps.js';

const START = 1_700_000_000;
const [usd, eur] = [`0x${'b2'.repeat(20)}`, `0x${'c3'.repeat(20)}`] as const;
const maker: Address = `0x${'a1'.repeat(20)}`;

/** Adds a cap that is signed and folded this many seconds after the start. */
function set(caps: readonly FillCap[], token: Address, amount: bigint, seconds: number): readonly FillCap[] {
  const terms = { token, amount: quantity(amount), windowSeconds: 9, issuedAtMs: (START + seconds) * 1000 };
  const fact: FillCapSet = { type: 'FillCapSet', maker, ...terms, cause: { kind: 'request', requestId: 'r' } };
  return setFillCap(caps, fact, { block: seconds, seconds: START + seconds });
}

test('a removed cap is remembered until no older one can come', () => {
  const tokensOf = (caps: readonly FillCap[]) => caps.map(({ token }) => token);
  const removed = set([], usd, 0n, 0);
  expect(tokensOf(set(removed, eur, 1n, 600))).toEqual([usd, eur]);
  expect(tokensOf(set(removed, eur, 1n, 601))).toEqual([eur]);
});

describe('a maker with as many caps as it may have', () => {
  const tokens = Array.from({ length: 3 * FILL_CAPS_MAX }, (_, n): Address => `0x${String(n).padStart(40, '0')}`);
  const own = tokens.slice(0, FILL_CAPS_MAX);
  const full = own.reduce<readonly FillCap[]>((caps, token) => set(caps, token, 1n, 0), []);
  const onOf = (caps: readonly FillCap[]) => caps.flatMap(({ token, amount }) => (amount === '0x0' ? [] : [token]));

  test('keeps all of them, whatever comes, and may set each again', () => {
    expect(set(full, tokens[FILL_CAPS_MAX] ?? usd, 1n, 1)).toBe(full);
    const again = set(full, own[0] ?? usd, 2n, 1);
    expect(again).toHaveLength(FILL_CAPS_MAX);
    expect(again.at(-1)).toMatchObject({ token: own[0], amount: '0x2' });
  });

  test('keeps them while others are set and removed, and remembers at most as many removed ones', () => {
    const [last = usd, ...first] = own.toReversed();
    const removed = set(full, last, 0n, 1);
    const churned = tokens.slice(FILL_CAPS_MAX).reduce((caps, token, n) => {
      const { length } = onOf(set(caps, token, 1n, n + 2));
      expect(length).toBe(FILL_CAPS_MAX);
      return set(set(caps, token, 1n, n + 2), token, 0n, n + 2.5);
    }, removed);
    expect(onOf(churned)).toEqual(first.toReversed());
    expect(churned.length).toBeLessThanOrEqual(2 * FILL_CAPS_MAX);
  });
});

/** Counts 3 units of the fills at these places, in seconds after the start, one block a second. */
function fill(caps: readonly FillCap[], ...places: readonly (readonly [block: number, logIndex: number])[]) {
  return places.reduce((before, [blockNumber, logIndex]) => {
    const counted = { token: usd, amount: 3n, seconds: START + blockNumber, blockNumber, logIndex };
    return countFill(before, counted, { block: blockNumber - 1, seconds: START + blockNumber - 1 });
  }, caps);
}
const untilOf = (caps: readonly FillCap[], seconds: number) => {
  const until = cappedUntil(caps, usd, { seconds: START + seconds });
  return until === 0 ? 0 : until - START;
};

test('a fill counts once, by the time of its own block, and not if it came before the cap', () => {
  const caps = set([], usd, 5n, 4);
  expect(untilOf(fill(caps, [3, 1], [4, 9], [5, 0]), 5)).toBe(0);
  expect(untilOf(fill(caps, [5, 0], [5, 0]), 5)).toBe(0);
  expect(untilOf(fill(caps, [5, 0], [5, 1], [5, 0]), 5)).toBe(14);
  expect(untilOf(fill(caps, [5, 0], [7, 0], [6, 1]), 7)).toBe(14);
  // The window of the first fill has passed by then.
  expect(untilOf(fill(caps, [5, 0], [14, 0]), 14)).toBe(0);
});

test('a cap of an earlier release counts only fills of blocks that are not yet processed', () => {
  const [cap] = set([], usd, 5n, 4);
  const { countsFrom: _, ...earlier } = cap as FillCap;
  const count = (blockNumber: number) =>
    countFill(
      [earlier],
      { token: usd, amount: 9n, seconds: START + 20, blockNumber, logIndex: 0 },
      { block: 7, seconds: 0 },
    );
  expect(untilOf(count(7), 20)).toBe(0);
  expect(untilOf(count(8), 20)).toBe(29);
});
