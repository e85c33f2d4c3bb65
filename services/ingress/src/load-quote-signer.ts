import { createSwapCallHasher, hexToBytes } from '@makerbook/contracts-evm';
import { type Address, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { SettingsError } from '@makerbook/settings';
import { addressOfKey, signDigest } from '@makerbook/signatures';
import type { IngressSettings } from './env.js';
import type { PatchQuoteParts } from './patch-quote.js';

/** The parts that patching a quote needs, or the names of the missing settings. */
export type QuoteSigner = (PatchQuoteParts & { readonly address: Address }) | { readonly missing: readonly string[] };

/**
 * Reads the quote-signer key and the accepted signers: those of `QUOTE_SIGNERS`, and the service itself, so that a
 * patched quote can be patched again. The key stays in the closure of `sign`: no message ever holds any of it.
 * @throws SettingsError when what is configured cannot be used
 */
export function loadQuoteSigner(settings: IngressSettings): QuoteSigner {
  const { SERVICE_NAME: serviceName, CHAIN_ID: chainId, NAVIGATOR_ADDRESS: verifyingContract } = settings;
  const listed = settings.QUOTE_SIGNERS.map(readSigner);
  const key = settings.QUOTE_SIGNER_KEY === '' ? undefined : readKey(settings.QUOTE_SIGNER_KEY);
  const missing = [
    ...(key === undefined ? ['QUOTE_SIGNER_KEY'] : []),
    ...(verifyingContract === ZERO_ADDRESS ? ['NAVIGATOR_ADDRESS'] : []),
  ];
  if (key === undefined || missing.length > 0) return { missing };
  return {
    address: key.address,
    hasher: createSwapCallHasher({ serviceName, chainId, verifyingContract }),
    acceptedSigners: new Set([key.address, ...listed]),
    sign: (digest) => signDigest(digest, key.bytes),
  };
}

/** Without a cause: the error of a library might quote the key. */
function readKey(text: string): { readonly bytes: Uint8Array; readonly address: Address } {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text.trim()) ?? [];
  if (digits === undefined) throw refuse('QUOTE_SIGNER_KEY does not hold 0x and 64 hex digits');
  const bytes = hexToBytes(`0x${digits}`);
  try {
    return { bytes, address: addressOfKey(bytes) };
  } catch {
    throw refuse('QUOTE_SIGNER_KEY holds a number that is no key of secp256k1');
  }
}

function readSigner(text: string): Address {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw refuse(`QUOTE_SIGNERS holds ${text}, which is no 20-byte hex address`);
  const address = text.toLowerCase() as Address;
  if (address === ZERO_ADDRESS) throw refuse('QUOTE_SIGNERS holds the zero address, which nobody can sign for');
  return address;
}

function refuse(problem: string): SettingsError {
  return new SettingsError(`The settings cannot be used:\n  ${problem}`);
}
