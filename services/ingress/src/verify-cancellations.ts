import { createRequestHashers, hexToBytes, type SigningDomain } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { recoverAddress } from '@makerbook/signatures';
import type { AskedCancellation } from './parse-cancellations.js';

const saltTypes = ['uint256', 'bytes32'] as const;

export type CancellationVerifier = ReturnType<typeof createCancellationVerifier>;

/**
 * Proves a cancellation. The interface types the domain's salt as uint256; common wallets can only type it as bytes32, so
 * that is tried before the signature is refused.
 */
export function createCancellationVerifier(domain: SigningDomain) {
  const { hashCancellation } = createRequestHashers(domain);
  function* signersOf({ orderHash, signature }: AskedCancellation, salt: Hex): Generator<Address | undefined> {
    const digits = salt.slice(2);
    const request = {
      orderHash: hexToBytes(orderHash),
      salt: hexToBytes(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`),
    };
    for (const type of saltTypes) yield recoverAddress(hashCancellation(request, type), signature);
  }
  return {
    /** Says what is wrong with the signature in a domain with this salt; undefined if it is the maker's. */
    findFault(cancellation: AskedCancellation, maker: Address, salt: Hex): string | undefined {
      const others: (Address | undefined)[] = [];
      for (const signer of signersOf(cancellation, salt)) {
        if (signer === maker) return undefined;
        others.push(signer);
      }
      if (others.every((signer) => signer === undefined)) return 'no key can have made it';
      // The maker is not named: who asks need not be the one to know it.
      return `it recovers to ${others[0]} with the salt typed uint256, and to ${others[1]} with bytes32`;
    },
    /** The possible signers, one for each type of the salt. */
    recover: (cancellation: AskedCancellation, salt: Hex): readonly Address[] =>
      [...signersOf(cancellation, salt)].flatMap((signer) => signer ?? []),
  };
}
