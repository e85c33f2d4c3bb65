import { createSwapCallHasher } from '@makerbook/contracts-evm';
import { type Address, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { loadSigner } from '../acknowledge/load-signer.js';
import type { IngressSettings } from '../env.js';
import type { PatchQuoteParts } from './patch-quote.js';

/** The parts that patching a quote needs, or the names of the missing settings. */
export type QuoteSigner = (PatchQuoteParts & { readonly address: Address }) | { readonly missing: readonly string[] };

/**
 * Reads the quote-signer key and the accepted signers from the settings. Accepted are `QUOTE_SIGNERS`, and the service
 * itself, so that a patched quote can be patched again.
 */
export function loadQuoteSigner(settings: IngressSettings): QuoteSigner {
  const { SERVICE_NAME: serviceName, CHAIN_ID: chainId, NAVIGATOR_ADDRESS: verifyingContract } = settings;
  const signer = loadSigner(settings.QUOTE_SIGNER_KEY);
  const missing = [
    ...(signer === undefined ? ['QUOTE_SIGNER_KEY'] : []),
    ...(verifyingContract === ZERO_ADDRESS ? ['NAVIGATOR_ADDRESS'] : []),
  ];
  if (signer === undefined || missing.length > 0) return { missing };
  return {
    ...signer,
    hasher: createSwapCallHasher({ serviceName, chainId, verifyingContract }),
    acceptedSigners: new Set([signer.address, ...settings.QUOTE_SIGNERS]),
  };
}
