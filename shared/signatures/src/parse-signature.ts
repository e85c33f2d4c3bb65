import { decodeHex } from '@makerbook/contracts-evm';

/** The curve's order n, and the largest low s. */
const ORDER = word('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141');
const HALF_ORDER = word('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0');

/** A signature fit for recovery: r and s within the curve's order, s in its lower half. */
export interface Signature {
  /** r ‖ s, 64 bytes. */
  readonly compact: Uint8Array;
  /** The parity of the nonce point's y. */
  readonly recovery: 0 | 1;
}

/** Why the service does not accept a text as a signature. */
export interface SignatureRefusal {
  readonly code: 'not_hex' | 'wrong_length' | 'wrong_v' | 'out_of_range' | 'high_s';
}

/** Distinguishes the two results of `parseSignature`. */
export function isSignatureRefusal(result: Signature | SignatureRefusal): result is SignatureRefusal {
  return 'code' in result;
}

/**
 * Reads a signature from hex of any case: 65 bytes r ‖ s ‖ v with v in {0, 1, 27, 28}, or the 64 bytes of EIP-2098.
 * Refuses high s, so that only one signature of an order counts. Refuses r or s of zero or beyond the curve's order.
 */
export function parseSignature(hex: string): Signature | SignatureRefusal {
  const length = (hex.length - 2) / 2;
  if (length !== 65 && length !== 64) return { code: 'wrong_length' };
  const bytes = new Uint8Array(65);
  if (!hex.startsWith('0x') || !decodeHex(hex, 2, bytes, 0, length)) return { code: 'not_hex' };
  const compact = bytes.subarray(0, 64);

  let recovery: 0 | 1;
  if (length === 65) {
    const v = bytes[64];
    if (v === 0 || v === 27) recovery = 0;
    else if (v === 1 || v === 28) recovery = 1;
    else return { code: 'wrong_v' };
  } else {
    // EIP-2098 keeps the parity in the top bit of s, which a low s leaves free.
    const top = compact[32] ?? 0;
    recovery = top >= 0x80 ? 1 : 0;
    compact[32] = top & 0x7f;
  }

  if (isZeroAt(compact, 0) || isZeroAt(compact, 32)) return { code: 'out_of_range' };
  if (compareAt(compact, 0, ORDER) >= 0 || compareAt(compact, 32, ORDER) >= 0) return { code: 'out_of_range' };
  if (compareAt(compact, 32, HALF_ORDER) > 0) return { code: 'high_s' };
  return { compact, recovery };
}

/** The refusal as a sentence for a person, about "it": the signature. */
export function describeSignatureRefusal({ code }: SignatureRefusal): string {
  switch (code) {
    case 'not_hex':
      return 'it is not hex';
    case 'wrong_length':
      return 'it has neither 65 bytes (r, s, v) nor 64 (EIP-2098)';
    case 'wrong_v':
      return 'its v is none of 0, 1, 27, 28';
    case 'out_of_range':
      return 'its r or s is zero or beyond the order of the curve';
    case 'high_s':
      return 'its s is in the upper half: sign with low s';
  }
}

function word(hex: string): Uint8Array {
  const bytes = new Uint8Array(32);
  decodeHex(hex, 0, bytes, 0, 32);
  return bytes;
}

function isZeroAt(bytes: Uint8Array, from: number): boolean {
  for (let index = 0; index < 32; index += 1) if (bytes[from + index] !== 0) return false;
  return true;
}

function compareAt(bytes: Uint8Array, from: number, limit: Uint8Array): number {
  for (let index = 0; index < 32; index += 1) {
    const difference = (bytes[from + index] ?? 0) - (limit[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
