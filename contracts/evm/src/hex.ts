import type { Hex } from '@makerbook/contracts-primitives';

/** Full-length lowercase hex of the bytes, for hashes, addresses and signatures. */
export function bytesToHex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}

/**
 * Bytes of a 0x-prefixed hex string of even length, any case.
 * Throws a TypeError for anything else: callers check untrusted input first.
 */
export function hexToBytes(hex: Hex): Uint8Array {
  const length = (hex.length - 2) / 2;
  if (!hex.startsWith('0x') || !Number.isInteger(length)) throw new TypeError('hex needs a 0x prefix and whole bytes');
  const bytes = new Uint8Array(length);
  if (!decodeHex(hex, 2, bytes, 0, length)) throw new TypeError('hex holds a character that is not hex');
  return bytes;
}

/**
 * Decodes `length` bytes of hex digits of any case, from character `from` of the text, into `into` at `at`.
 * Returns false if a character is not hex. The bytes written are then garbage.
 * Buffer's decoder will not do: it looks at the low byte of each character, and takes U+0130 for a zero.
 */
export function decodeHex(text: string, from: number, into: Uint8Array, at: number, length: number): boolean {
  let seen = 0;
  for (let index = 0; index < length; index += 1) {
    const high = NIBBLES[text.charCodeAt(from + index * 2)] ?? 16;
    const low = NIBBLES[text.charCodeAt(from + index * 2 + 1)] ?? 16;
    seen |= high | low;
    into[at + index] = (high << 4) | low;
  }
  return seen < 16;
}

/** The values of the hex digits, keyed by character code; 16 for every other character. */
const NIBBLES = new Uint8Array(256).fill(16);
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  NIBBLES[digit.charCodeAt(0)] = value;
  NIBBLES[digit.toUpperCase().charCodeAt(0)] = value;
}
