/** A 0x-prefixed hex string of any length. */
export type Hex = `0x${string}`;

/** 20 bytes of 0x-prefixed lowercase hex. */
export type Address = Hex;

/** The address that nobody can sign for. */
export const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000';

/** Minimal lowercase hex of an unsigned integer (`0x0`). Throws a RangeError below zero, a TypeError for no bigint. */
export function quantity(value: bigint): Hex {
  // A decimal string would pass as hex, unconverted.
  if (typeof value !== 'bigint') throw new TypeError('a quantity is a bigint');
  if (value < 0n) throw new RangeError('a quantity is never negative');
  return `0x${value.toString(16)}`;
}
