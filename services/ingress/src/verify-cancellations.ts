import { createRequestHashers, hexToBytes, type SigningDomain } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { recoverAddress } from '@makerbook/signatures';
import type { AskedCancellation } from './parse-cancellations.js';

/** Whether the maker signed the cancellation, in a domain with this salt. */
export type VerifyCancellation = (cancellation: AskedCancellation, maker: Address, salt: Hex) => boolean;

/**
 * Proves a cancellation (Interface 5.2). The interface types the domain's salt as uint256; common wallets can only type
 * it as bytes32, so that is tried before the signature is refused.
 */
export function createCancellationVerifier(domain: SigningDomain): VerifyCancellation {
  const { hashCancellation } = createRequestHashers(domain);
  return ({ orderHash, signature }, maker, salt) => {
    const digits = salt.slice(2);
    const request = {
      orderHash: hexToBytes(orderHash),
      salt: hexToBytes(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`),
    };
    return (
      recoverAddress(hashCancellation(request, 'uint256'), signature) === maker ||
      recoverAddress(hashCancellation(request, 'bytes32'), signature) === maker
    );
  };
}
