import assert from 'node:assert';
import { join } from 'node:path';
import { bytesToHex, keccak256 } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { loadLibrary, type RecoverKey, recoverKeyByPackage } from './load-library.js';
import { describeSignatureRefusal, isSignatureRefusal, parseSignature, type Signature } from './parse-signature.js';

/** The library that recovers addresses in this process: a current libsecp256k1, or the slower npm package and why. */
export type RecoveryLibrary =
  | { readonly name: 'libsecp256k1'; readonly file: string }
  | { readonly name: 'secp256k1 (npm)'; readonly reason: string };

/** The path of a current libsecp256k1, which may be missing: commands that need Maven fetch it, images have it. */
const LIBRARY_FILE = join(import.meta.dirname, '..', 'target', 'libsecp256k1.so');

// One buffer for the process: it is filled and read within one call.
const publicKey = new Uint8Array(65);

const point = publicKey.subarray(1);

const { recoverKey, library } = await chooseRecovery(LIBRARY_FILE);

/** The library of `recoverAddress`, for a line in the log of a service. */
export const recoveryLibrary: RecoveryLibrary = library;

/** The library of the file, or else the package, which every platform has. */
export async function chooseRecovery(file: string): Promise<{ recoverKey: RecoverKey; library: RecoveryLibrary }> {
  try {
    return { recoverKey: await loadLibrary(file), library: { name: 'libsecp256k1', file } };
  } catch (error) {
    const reason = `${file}: ${error instanceof Error ? error.message : String(error)}`;
    return { recoverKey: recoverKeyByPackage, library: { name: 'secp256k1 (npm)', reason } };
  }
}

/**
 * The address whose key made the signature over the 32-byte digest, lowercase; undefined when no key can have made it.
 * The signature comes from `parseSignature`: libsecp256k1 itself would recover from a high s.
 */
export function recoverAddress(digest: Uint8Array, signature: Signature): Address | undefined {
  // C reads and writes behind these addresses whatever their length.
  assert(digest.length === 32, 'a digest has 32 bytes');
  assert(signature.compact.length === 64, 'a compact signature has 64 bytes');
  return recoverKey(digest, signature, publicKey) ? addressOfPoint(point) : undefined;
}

/** The address of an uncompressed public key without its leading 4: 64 bytes. */
export function addressOfPoint(xy: Uint8Array): Address {
  return bytesToHex(keccak256(xy).subarray(12));
}

/** The signer of a digest, or a sentence about "it": the signature. */
type Recovered =
  | { readonly signer: Address; readonly fault?: undefined }
  | { readonly signer?: undefined; readonly fault: string };

/** Recovers who has signed a digest. @param hex the signature as `parseSignature` takes it */
export function recoverSigner(digest: Uint8Array, hex: string): Recovered {
  const signature = parseSignature(hex);
  if (isSignatureRefusal(signature)) return { fault: describeSignatureRefusal(signature) };
  const signer = recoverAddress(digest, signature);
  return signer === undefined ? { fault: 'no key can have made it' } : { signer };
}
