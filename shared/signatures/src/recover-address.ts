import assert from 'node:assert';
import { bytesToHex, keccak256 } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { curve } from './choose-library.js';
import { describeSignatureRefusal, isSignatureRefusal, parseSignature, type Signature } from './parse-signature.js';

// The process shares one buffer, because it is filled and read within one call.
const publicKey = new Uint8Array(65);

const point = publicKey.subarray(1);

/**
 * Recovers the address whose key made the signature over the 32-byte digest, in lowercase; undefined if no key can have
 * made it. The signature must come from `parseSignature`, because libsecp256k1 itself would recover from a high s.
 */
export function recoverAddress(digest: Uint8Array, signature: Signature): Address | undefined {
  // C reads and writes at these addresses, whatever the arrays' length.
  assert(digest.length === 32, 'a digest has 32 bytes');
  assert(signature.compact.length === 64, 'a compact signature has 64 bytes');
  return curve.recoverKey(digest, signature, publicKey) ? addressOfPoint(point) : undefined;
}

/** The address of an uncompressed public key without its leading 4: 64 bytes. */
export function addressOfPoint(xy: Uint8Array): Address {
  return bytesToHex(keccak256(xy).subarray(12));
}

/** The signer of a digest, or a sentence about "it": the signature. */
type Recovered =
  | { readonly signer: Address; readonly fault?: undefined }
  | { readonly signer?: undefined; readonly fault: string };

/**
 * Recovers the signer of a digest.
 * @param hex the signature, as for `parseSignature`
 */
export function recoverSigner(digest: Uint8Array, hex: string): Recovered {
  const signature = parseSignature(hex);
  if (isSignatureRefusal(signature)) return { fault: describeSignatureRefusal(signature) };
  const signer = recoverAddress(digest, signature);
  return signer === undefined ? { fault: 'no key can have made it' } : { signer };
}
