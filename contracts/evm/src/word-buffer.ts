import type { Address, Hex } from '@makerbook/contracts-primitives';
import { decodeHex } from './hex.js';

/** A fixed run of 32-byte words, as `abi.encode` lays out static values. Each digest fills it again. */
export interface WordBuffer {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

export function createWordBuffer(words: number): WordBuffer {
  const bytes = new Uint8Array(words * 32);
  return { bytes, view: new DataView(bytes.buffer) };
}

const UINT64_LIMIT = 1n << 64n;

/** Writes a uint256 at a word. Throws a RangeError if the value is outside of uint256. */
export function putUint256({ view }: WordBuffer, word: number, value: bigint): void {
  const at = word * 32;
  if (value >= 0n && value < UINT64_LIMIT) {
    view.setBigUint64(at, 0n);
    view.setBigUint64(at + 8, 0n);
    view.setBigUint64(at + 16, 0n);
  } else {
    if (value >> 256n !== 0n) throw new RangeError('not a uint256');
    // setBigUint64 keeps only the low 64 bits.
    view.setBigUint64(at, value >> 192n);
    view.setBigUint64(at + 8, value >> 128n);
    view.setBigUint64(at + 16, value >> 64n);
  }
  view.setBigUint64(at + 24, value);
}

/** Writes an address, any case, into the low 20 bytes of a word. Throws a TypeError for anything else. */
export function putAddress({ bytes, view }: WordBuffer, word: number, address: Address): void {
  const at = word * 32;
  view.setBigUint64(at, 0n);
  view.setUint32(at + 8, 0);
  if (address.length !== 42 || !address.startsWith('0x') || !decodeHex(address, 2, bytes, at + 12, 20)) {
    throw new TypeError('an address is 0x and 40 hex digits');
  }
}

/** Writes 32 bytes of hex at a word. Throws a TypeError for anything else. */
export function putBytes32({ bytes }: WordBuffer, word: number, value: Hex): void {
  if (value.length !== 66 || !decodeHex(value, 2, bytes, word * 32, 32))
    throw new TypeError('not 0x and 64 hex digits');
}

/** Writes at most 32 bytes at a word, padded with zeros on the left. */
export function putBytesLeftPadded({ bytes }: WordBuffer, word: number, value: Uint8Array): void {
  if (value.length > 32) throw new RangeError('more than 32 bytes');
  const at = word * 32;
  bytes.fill(0, at, at + 32 - value.length);
  bytes.set(value, at + 32 - value.length);
}
