import assert from 'node:assert';
import type { Signature } from './parse-signature.js';

/** `SECP256K1_CONTEXT_SIGN` and `_VERIFY` of secp256k1.h, which versions before 0.2 need. */
const CONTEXT_SIGN_AND_VERIFY = 0x301;
/** `SECP256K1_EC_UNCOMPRESSED`. */
const UNCOMPRESSED = 2;
/** The result of every correct implementation for a digest of ones and a private key of twos. */
const KNOWN = {
  compact:
    '9d0bad576719d32ae76bedb34c774866673cbde3f4e12951555c9408e6ce774b2876e7102f204f6bfee26c967c3926ce702cf97d4b010062e193f763190f6776',
  recovery: 0,
  publicKey:
    '044d4b6cd1361032ca9bd2aeb9d900aa4d45d9ead80ac9423374c451a7254d07662a3eada2d0fe208b6d257ceb0f064284662e857f57b66b54c198bd310ded36d0',
};

/** The curve secp256k1. A digest and a private key have 32 bytes; a public key is uncompressed, 65 bytes. */
export type Curve = {
  /**
   * Writes the public key whose owner made the signature over the digest. Returns false, and leaves the bytes
   * undefined, if no key can have made it.
   */
  readonly recoverKey: (digest: Uint8Array, signature: Signature, publicKey: Uint8Array) => boolean;
  /**
   * Signs deterministically (RFC 6979), with a low s.
   * @throws Error if the bytes are no private key
   */
  readonly sign: (digest: Uint8Array, privateKey: Uint8Array) => Signature;
  /** @throws Error if the bytes are no private key */
  readonly publicKeyOf: (privateKey: Uint8Array) => Uint8Array;
};

/**
 * Loads the npm package `secp256k1`, which compiles a libsecp256k1 of 2019.
 * @throws Error if it has no binary for this machine, and could not be compiled here
 */
export async function loadPackage(): Promise<Curve> {
  const { default: secp256k1 } = await import('secp256k1/bindings.js');
  return {
    recoverKey(digest, { compact, recovery }, publicKey) {
      try {
        secp256k1.ecdsaRecover(compact, recovery, digest, false, publicKey);
        return true;
      } catch {
        return false;
      }
    },
    sign(digest, privateKey) {
      const { signature, recid } = secp256k1.ecdsaSign(digest, privateKey);
      return { compact: signature, recovery: recid === 0 ? 0 : 1 };
    },
    publicKeyOf: (privateKey) => secp256k1.publicKeyCreate(privateKey, false),
  };
}

/**
 * Loads a shared libsecp256k1 of 2021 or later through koffi. It recovers in two thirds of the package's time.
 * @param file path of the library
 * @throws Error if it cannot be loaded here, or gives another result for the known signature
 */
export async function loadLibrary(file: string): Promise<Curve> {
  // koffi has no binary for some platforms, and importing it throws there.
  const { default: koffi } = await import('koffi');
  const library = koffi.load(file);
  const createContext = library.func('void *secp256k1_context_create(unsigned int flags)');
  const parse = library.func(
    'int secp256k1_ecdsa_recoverable_signature_parse_compact(void *context, void *signature, void *compact, int recovery)',
  );
  const recover = library.func('int secp256k1_ecdsa_recover(void *context, void *key, void *signature, void *digest)');
  const serializeKey = library.func(
    'int secp256k1_ec_pubkey_serialize(void *context, void *output, void *length, void *key, unsigned int flags)',
  );
  const createKey = library.func('int secp256k1_ec_pubkey_create(void *context, void *key, void *privateKey)');
  const makeSignature = library.func(
    'int secp256k1_ecdsa_sign_recoverable(void *context, void *signature, void *digest, void *privateKey, void *nonce, void *data)',
  );
  const serializeSignature = library.func(
    'int secp256k1_ecdsa_recoverable_signature_serialize_compact(void *context, void *output, void *recovery, void *signature)',
  );
  const context: unknown = createContext(CONTEXT_SIGN_AND_VERIFY);
  // The process shares one set of buffers, because each is filled and read within one call. The header gives their
  // sizes.
  const parsed = new Uint8Array(65);
  const key = new Uint8Array(64);
  const length = new BigUint64Array(1);
  const parity = new Int32Array(1);

  const writeKey = (publicKey: Uint8Array): boolean => {
    length[0] = 65n;
    return serializeKey(context, publicKey, length, key, UNCOMPRESSED) === 1;
  };
  const curve: Curve = {
    recoverKey(digest, { compact, recovery }, publicKey) {
      if (parse(context, parsed, compact, recovery) !== 1) return false;
      return recover(context, key, parsed, digest) === 1 && writeKey(publicKey);
    },
    sign(digest, privateKey) {
      assert(digest.length === 32, 'a digest has 32 bytes');
      assert(privateKey.length === 32, 'a private key has 32 bytes');
      const compact = new Uint8Array(64);
      assert(makeSignature(context, parsed, digest, privateKey, null, null) === 1, 'the private key is invalid');
      serializeSignature(context, compact, parity, parsed);
      return { compact, recovery: parity[0] === 0 ? 0 : 1 };
    },
    publicKeyOf(privateKey) {
      assert(privateKey.length === 32, 'a private key has 32 bytes');
      assert(createKey(context, key, privateKey) === 1, 'the private key is invalid');
      const publicKey = new Uint8Array(65);
      writeKey(publicKey);
      return publicKey;
    },
  };
  if (!agreesWithKnown(curve)) throw new Error('it makes or recovers a wrong signature');
  return curve;
}

function agreesWithKnown({ sign, recoverKey, publicKeyOf }: Curve): boolean {
  const [digest, privateKey] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const signature = sign(digest, privateKey);
  const found = new Uint8Array(65);
  return (
    recoverKey(digest, signature, found) &&
    signature.recovery === KNOWN.recovery &&
    hex(signature.compact) === KNOWN.compact &&
    hex(found) === KNOWN.publicKey &&
    hex(publicKeyOf(privateKey)) === KNOWN.publicKey
  );
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
