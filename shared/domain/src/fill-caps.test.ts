import { expect, test } from '@jest/globals';
import type { FillCapSet } from '@makerbook/contracts-events';
import { type Address, quantity } from '@makerbook/contracts-primitives';
import { FILL_CAPS_MAX, type FillCap, setFillCap } from './fill-caps.js';

const START = 1_700_000_000;
const [usd, eur] = [`0x${'b2'.repeat(20)}`, `0x${'c3'.repeat(20)}`] as const;
const maker: Address = `0x${'a1'.repeat(20)}`;

/** Adds a cap that is signed and folded so many seconds after the start. */
function set(caps: readonly FillCap[], token: Address, amount: bigint, seconds: number): readonly FillCap[] {
  const terms = { token, amount: quantity(amount), windowSeconds: 9, issuedAtMs: (START + seconds) * 1000 };
  const fact: FillCapSet = { type: 'FillCapSet', maker, ...terms, cause: { kind: 'request', requestId: 'r' } };
  return setFillCap(caps, fact, { seconds: START + seconds });
}

test('a removed cap is remembered until no older one can come, and a maker has so many', () => {
  const tokensOf = (caps: readonly FillCap[]) => caps.map(({ token }) => token);
  const removed = set([], usd, 0n, 0);
  expect(tokensOf(set(removed, eur, 1n, 600))).toEqual([usd, eur]);
  expect(tokensOf(set(removed, eur, 1n, 601))).toEqual([eur]);
  const tokens = Array.from({ length: FILL_CAPS_MAX + 1 }, (_, n): Address => `0x${String(n).padStart(40, '0')}`);
  const many = tokens.reduce<readonly FillCap[]>((caps, token) => set(caps, token, 1n, 0), []);
  expect(tokensOf(many)).toEqual(tokens.slice(1));
});
