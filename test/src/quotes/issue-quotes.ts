import {
  bytesToHex,
  createSwapCallHasher,
  encodeSwapCall,
  hexToBytes,
  type UnsignedSwapCall,
} from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { addressOfKey, signDigest } from '@makerbook/signatures';

/** The key of `TEST_QUOTE_SIGNER` of the local stack: account 9 of anvil's well-known test accounts. */
export const TEST_QUOTE_SIGNER_KEY: Hex = '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6';

/** Stands in for the quote interface, with the key (32 bytes) of a signer that the Navigator and the service accept. */
export function createQuoteIssuer(
  domain: { readonly serviceName: string; readonly chainId: number; readonly navigator: string },
  key: Hex,
) {
  const { serviceName, chainId, navigator } = domain;
  const hasher = createSwapCallHasher({ serviceName, chainId, verifyingContract: navigator as Address });
  const keyBytes = hexToBytes(key);
  return {
    address: addressOfKey(keyBytes),
    /** `quote.tx.data` of a quote of version v0 or v1; without an assertion if `minOutput` is undefined. */
    issue: (quote: UnsignedSwapCall): Hex =>
      bytesToHex(encodeSwapCall({ ...quote, signature: signDigest(hasher.hashSwapCall(quote), keyBytes) })),
  };
}
