declare module 'secp256k1/bindings.js' {
  import * as secp256k1 from 'secp256k1';
  export default secp256k1;
}
