import { bytesToHex } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { curve } from './choose-library.js';
import { addressOfPoint } from './recover-address.js';

/** Signs a 32-byte digest with a 32-byte key: 65 bytes r ‖ s ‖ v, low s, v of 27 or 28. Deterministic (RFC 6979). */
export function signDigest(digest: Uint8Array, privateKey: Uint8Array): Hex {
  const { compact, recovery } = curve.sign(digest, privateKey);
  const bytes = new Uint8Array(65);
  bytes.set(compact);
  bytes[64] = 27 + recovery;
  return bytesToHex(bytes);
}

/** The address of a 32-byte private key, in lowercase. Throws if the bytes are no key of the curve. */
export function addressOfKey(privateKey: Uint8Array): Address {
  return addressOfPoint(curve.publicKeyOf(privateKey).subarray(1));
}
