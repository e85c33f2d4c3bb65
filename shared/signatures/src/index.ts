export { type RecoveryLibrary, recoveryLibrary } from './choose-library.js';
export {
  describeSignatureRefusal,
  isSignatureRefusal,
  parseSignature,
  type Signature,
  type SignatureRefusal,
} from './parse-signature.js';
export { recoverAddress, recoverSigner } from './recover-address.js';
export { addressOfKey, signDigest } from './sign-digest.js';
