import { bytesToHex } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import secp256k1 from 'secp256k1/bindings.js';
import { addressOfPoint } from './recover-address.js';

/** Signs a 32-byte digest by a 32-byte key: 65 bytes r ‖ s ‖ v, low s, v of 27 or 28. Deterministic (RFC 6979). */
export function signDigest(digest: Uint8Array, privateKey: Uint8Array): Hex {
  const { signature, recid } = secp256k1.ecdsaSign(digest, privateKey);
  const bytes = new Uint8Array(65);
  bytes.set(signature);
  bytes[64] = 27 + recid;
  return bytesToHex(bytes);
}

/** The address of a 32-byte private key, lowercase. Throws when the bytes are no key of the curve. */
export function addressOfKey(privateKey: Uint8Array): Address {
  return addressOfPoint(secp256k1.publicKeyCreate(privateKey, false).subarray(1));
}
