import type { Address } from '@makerbook/contracts-primitives';
import { describeSignatureRefusal, isSignatureRefusal, parseSignature } from './parse-signature.js';
import { recoverAddress } from './recover-address.js';

/** The signer of a digest, or a sentence about "it": the signature. */
export type Recovered =
  | { readonly signer: Address; readonly fault?: undefined }
  | { readonly signer?: undefined; readonly fault: string };

/** Recovers who has signed a digest. @param hex the signature as `parseSignature` takes it */
export function recoverSigner(digest: Uint8Array, hex: string): Recovered {
  const signature = parseSignature(hex);
  if (isSignatureRefusal(signature)) return { fault: describeSignatureRefusal(signature) };
  const signer = recoverAddress(digest, signature);
  return signer === undefined ? { fault: 'no key can have made it' } : { signer };
}
