export {
  describeSignatureRefusal,
  isSignatureRefusal,
  parseSignature,
  type Signature,
  type SignatureRefusal,
} from './parse-signature.js';
export { type RecoveryLibrary, recoverAddress, recoveryLibrary } from './recover-address.js';
export { recoverSigner } from './recover-signer.js';
export { addressOfKey, signDigest } from './sign-digest.js';
