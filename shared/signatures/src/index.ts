export {
  describeSignatureRefusal,
  isSignatureRefusal,
  parseSignature,
  type Signature,
  type SignatureRefusal,
} from './parse-signature.js';
export { type RecoveryLibrary, recoverAddress, recoverSigner, recoveryLibrary } from './recover-address.js';
export { addressOfKey, signDigest } from './sign-digest.js';
