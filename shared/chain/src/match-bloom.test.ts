import { expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { keccak256, randomBytes, toBeHex } from 'ethers';
import { bloomHolds } from './match-bloom.js';

/** The bloom of a block with one log, made by a Kaia node. */
const KAIA_BLOOM = [
  '0x00000000000000000000000000008000000000000000000000000000000000000000000000000000000000000000000000',
  '0000000000000000000000000000000000004000000000000000080004000000020000000000000000000000000000000000',
  '0008000000000000000000000000000000000000000000001000000000000000000000200000000000000000000000000000',
  '0000000000000000800000000000000000000000000000000000000000000000000000000000000000000000000002000000',
  '0000400000000000000000000000000000000000000000000000000000000000000000000000000000080000000000000000',
  '00000000000000',
].join('') as Hex;
const IN_IT: readonly Hex[] = [
  '0xab00000000000000000000000000000000000cde',
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  '0x0000000000000000000000005050a4f4b3f9338c3472dcc01a87c76a144b3c9c',
  '0x0000000000000000000000001a642f0e3c3af545e7acbd38b07251b3990914f1',
];
const randomHex = (bytes: number) => `0x${Buffer.from(randomBytes(bytes)).toString('hex')}` as Hex;

test('the bloom of a block holds the address and the topics of its log, and hardly anything else', () => {
  expect(IN_IT.map((value) => bloomHolds(KAIA_BLOOM, value))).toEqual([true, true, true, true]);
  expect(bloomHolds(KAIA_BLOOM, '0x19aac5f612f524b754ca7e7c41cbfa2e981a4432')).toBe(false);
  // Twelve bits of 2,048: one value in five million passes by chance.
  for (let n = 0; n < 1000; n += 1) expect(bloomHolds(KAIA_BLOOM, randomHex(32))).toBe(false);
});

test('a value is in the bloom only if all three of its bits are set, as the yellow paper says', () => {
  for (let n = 0; n < 300; n += 1) {
    const value = randomHex(n % 2 === 0 ? 20 : 32);
    const hash = keccak256(value);
    const bits = [2, 6, 10].map((at) => 1n << (BigInt(`0x${hash.slice(at, at + 4)}`) & 2047n));
    const whole = bits.reduce((all, bit) => all | bit);
    expect(bloomHolds(toBeHex(whole, 256) as Hex, value)).toBe(true);
    for (const bit of bits) expect(bloomHolds(toBeHex(whole & ~bit, 256) as Hex, value)).toBe(false);
  }
});
