import { hexToBytes } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { addressOfKey } from '@makerbook/signatures';

/** Reads a private key: 64 hex digits, with or without 0x. Undefined where that is no key of secp256k1. */
export function readKey(text: string): { readonly bytes: Uint8Array; readonly address: Address } | undefined {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const bytes = hexToBytes(`0x${digits}`);
  try {
    return { bytes, address: addressOfKey(bytes) };
  } catch {
    return undefined;
  }
}
