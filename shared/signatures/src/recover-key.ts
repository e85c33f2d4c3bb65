// The package's index falls back to slow JavaScript without a warning; the bindings throw.
import secp256k1 from 'secp256k1/bindings.js';
import type { Signature } from './parse-signature.js';

/**
 * Writes the uncompressed public key, 65 bytes, whose owner made the signature over the 32-byte digest. False, with the
 * bytes undefined, when no key can have made it.
 */
export type RecoverKey = (digest: Uint8Array, signature: Signature, publicKey: Uint8Array) => boolean;

/** Uses the npm package `secp256k1`, which compiles a libsecp256k1 of 2019 and runs wherever the services do. */
export const recoverKeyByPackage: RecoverKey = (digest, { compact, recovery }, publicKey) => {
  try {
    secp256k1.ecdsaRecover(compact, recovery, digest, false, publicKey);
    return true;
  } catch {
    return false;
  }
};
