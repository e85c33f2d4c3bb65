import secp256k1 from 'secp256k1/bindings.js';
import type { Signature } from './parse-signature.js';

/** `SECP256K1_CONTEXT_VERIFY`, which versions before 0.2 need, and `SECP256K1_EC_UNCOMPRESSED` of secp256k1.h. */
const CONTEXT_VERIFY = 0x101;
const UNCOMPRESSED = 2;

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

/**
 * A shared libsecp256k1 of 2021 or later, called through koffi: such a one recovers in two thirds of the package's
 * time.
 * @param file path of the library
 * @throws Error when it cannot be loaded here, or does not recover what the package does
 */
export async function loadLibrary(file: string): Promise<RecoverKey> {
  // koffi has no binary for some platforms, and throws on import there.
  const { default: koffi } = await import('koffi');
  const library = koffi.load(file);
  const createContext = library.func('void *secp256k1_context_create(unsigned int flags)');
  const parse = library.func(
    'int secp256k1_ecdsa_recoverable_signature_parse_compact(void *context, void *signature, void *compact, int recovery)',
  );
  const recover = library.func('int secp256k1_ecdsa_recover(void *context, void *key, void *signature, void *digest)');
  const serialize = library.func(
    'int secp256k1_ec_pubkey_serialize(void *context, void *output, void *length, void *key, unsigned int flags)',
  );
  const context: unknown = createContext(CONTEXT_VERIFY);
  // One set of buffers for the process: they are filled and read within one call. Their sizes are those of the header.
  const parsed = new Uint8Array(65);
  const key = new Uint8Array(64);
  const length = new BigUint64Array(1);

  const recoverKey: RecoverKey = (digest, { compact, recovery }, publicKey) => {
    if (parse(context, parsed, compact, recovery) !== 1) return false;
    if (recover(context, key, parsed, digest) !== 1) return false;
    length[0] = 65n;
    return serialize(context, publicKey, length, key, UNCOMPRESSED) === 1;
  };
  if (!recoversAsPackage(recoverKey)) throw new Error('it recovers another key than the package does');
  return recoverKey;
}

function recoversAsPackage(recoverKey: RecoverKey): boolean {
  const digest = new Uint8Array(32).fill(1);
  const { signature, recid } = secp256k1.ecdsaSign(digest, new Uint8Array(32).fill(2));
  const proof = { compact: signature, recovery: recid === 0 ? 0 : 1 } as const;
  const [found, expected] = [new Uint8Array(65), new Uint8Array(65)];
  return (
    recoverKeyByPackage(digest, proof, expected) &&
    recoverKey(digest, proof, found) &&
    found.every((byte, at) => byte === expected[at])
  );
}
