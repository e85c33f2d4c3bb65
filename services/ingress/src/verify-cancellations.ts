import { createRequestHashers, hexToBytes, type SigningDomain } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { recoverAddress } from '@makerbook/signatures';
import type { AskedCancellation } from './parse-cancellations.js';

/**
 * Whether the maker signed the cancellation, in a domain with this salt.
 * @returns what is wrong with the signature; undefined where it is the maker's
 */
export type VerifyCancellation = (cancellation: AskedCancellation, maker: Address, salt: Hex) => string | undefined;

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
    const signer = recoverAddress(hashCancellation(request, 'uint256'), signature);
    if (signer === maker) return undefined;
    const walletSigner = recoverAddress(hashCancellation(request, 'bytes32'), signature);
    if (walletSigner === maker) return undefined;
    if (signer === undefined && walletSigner === undefined) return 'no key can have made it';
    // The maker is not named: who asks need not be the one to know it.
    return `it recovers to ${signer} with the salt typed uint256, and to ${walletSigner} with bytes32`;
  };
}
