import { bytesToHex, createRequestHashers, hexToBytes, type SigningDomain } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { describeSignatureRefusal, isSignatureRefusal, recoverAddress } from '@makerbook/signatures';
import type { AskedCancellation } from '../parse/parse-cancellations.js';

const saltTypes = ['uint256', 'bytes32'] as const;

export type ProveCancellation = ReturnType<typeof createCancellationVerifier>;

/**
 * Finds the maker for whom a cancellation is signed in a domain with this salt, or says why no key has, with the
 * digests to be signed. The interface types the salt as uint256; common wallets can only type it as bytes32, so that is
 * tried before it is refused.
 */
export function createCancellationVerifier(domain: SigningDomain) {
  const { hashCancellation } = createRequestHashers(domain);
  return (
    { orderHash, signature }: AskedCancellation,
    salt: Hex,
    makerFor: (signer: Address) => Address | undefined,
  ): { readonly maker: Address } | { readonly fault: string; readonly digests: readonly Hex[] } => {
    const digits = salt.slice(2);
    const request = {
      orderHash: hexToBytes(orderHash),
      salt: hexToBytes(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`),
    };
    const others: (Address | undefined)[] = [];
    const hashed: Uint8Array[] = [];
    for (const type of saltTypes) {
      const digest = hashCancellation(request, type);
      hashed.push(digest);
      if (isSignatureRefusal(signature)) continue;
      const signer = recoverAddress(digest, signature);
      const maker = signer && makerFor(signer);
      if (maker !== undefined) return { maker };
      others.push(signer);
    }
    const digests = hashed.map(bytesToHex);
    if (isSignatureRefusal(signature)) return { fault: describeSignatureRefusal(signature), digests };
    if (others.every((signer) => signer === undefined)) return { fault: 'no key can have made it', digests };
    // The maker is not named: who asks need not be the one to know it.
    const fault = `it recovers to ${others[0]} with the salt typed uint256, and to ${others[1]} with bytes32`;
    return { fault, digests };
  };
}
