import { createSwapCallHasher, hexToBytes } from '@makerbook/contracts-evm';
import { type Address, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { addressOfKey, signDigest } from '@makerbook/signatures';
import type { IngressSettings } from './env.js';
import type { PatchQuoteParts } from './patch-quote.js';

/** The parts that patching a quote needs, or the names of the missing settings. */
export type QuoteSigner = (PatchQuoteParts & { readonly address: Address }) | { readonly missing: readonly string[] };

/**
 * Takes the quote-signer key and the accepted signers out of the settings: those of `QUOTE_SIGNERS`, and the service itself, so
 * that a patched quote can be patched again. The key stays in the closure of `sign`: no message ever holds any of it.
 */
export function loadQuoteSigner(settings: IngressSettings): QuoteSigner {
  const { SERVICE_NAME: serviceName, CHAIN_ID: chainId, NAVIGATOR_ADDRESS: verifyingContract } = settings;
  const key = readKey(settings.QUOTE_SIGNER_KEY);
  const missing = [
    ...(key === undefined ? ['QUOTE_SIGNER_KEY'] : []),
    ...(verifyingContract === ZERO_ADDRESS ? ['NAVIGATOR_ADDRESS'] : []),
  ];
  if (key === undefined || missing.length > 0) return { missing };
  return {
    address: key.address,
    hasher: createSwapCallHasher({ serviceName, chainId, verifyingContract }),
    acceptedSigners: new Set([key.address, ...settings.QUOTE_SIGNERS]),
    sign: (digest) => signDigest(digest, key.bytes),
  };
}

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
