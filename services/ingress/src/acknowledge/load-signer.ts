import { hexToBytes } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { addressOfKey, signDigest } from '@makerbook/signatures';

/** A key that signs. The key stays in the closure of `sign`, so no message ever holds any of it. */
export interface Signer {
  readonly address: Address;
  /** Signs a 32-byte digest: 65 bytes r ‖ s ‖ v. */
  readonly sign: (digest: Uint8Array) => Hex;
}

/** Reads a private key: 64 hex digits, with or without 0x. Undefined if that is no key of secp256k1. */
export function loadSigner(text: string): Signer | undefined {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const key = hexToBytes(`0x${digits}`);
  try {
    return { address: addressOfKey(key), sign: (digest) => signDigest(digest, key) };
  } catch {
    return undefined;
  }
}
