export {
  describeSignatureRefusal,
  isSignatureRefusal,
  parseSignature,
  type Signature,
  type SignatureRefusal,
} from './parse-signature.js';
export { recoverAddress } from './recover-address.js';
export { addressOfKey, signDigest } from './sign-digest.js';
