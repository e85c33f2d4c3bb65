import assert from 'node:assert';
import { bytesToHex, keccak256 } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
// The package's index falls back to slow JavaScript without a warning; the bindings throw.
import secp256k1 from 'secp256k1/bindings.js';
import type { Signature } from './parse-signature.js';

// One buffer for the process: it is filled and read within one call.
const publicKey = new Uint8Array(65);
const point = publicKey.subarray(1);

/**
 * The address whose key made the signature over the 32-byte digest, lowercase; undefined when no key can have made it.
 * The signature comes from `parseSignature`: libsecp256k1 itself would recover from a high s.
 */
export function recoverAddress(digest: Uint8Array, signature: Signature): Address | undefined {
  assert(digest.length === 32, 'a digest has 32 bytes');
  assert(signature.compact.length === 64, 'a compact signature has 64 bytes');
  try {
    secp256k1.ecdsaRecover(signature.compact, signature.recovery, digest, false, publicKey);
  } catch {
    return undefined;
  }
  return addressOfPoint(point);
}

/** The address of an uncompressed public key without its leading 4: 64 bytes. */
export function addressOfPoint(xy: Uint8Array): Address {
  return bytesToHex(keccak256(xy).subarray(12));
}
