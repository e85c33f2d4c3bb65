import { bytesToHex, createOrderHasher, type SigningDomain } from '@makerbook/contracts-evm';
import type { ProvenOrder } from '@makerbook/domain';
import type { Refusal } from '@makerbook/http';
import { isSignatureRefusal, parseSignature, recoverAddress, type SignatureRefusal } from '@makerbook/signatures';
import type { Placement } from './parse-placements.js';
import { SIGNATURES_PER_TURN } from './take-turns.js';

/**
 * Proves that each order was signed by the maker it names.
 * @param takeTurn resolves when the next few may be verified; it is asked where there are more than a few
 */
export type VerifyOrders = (
  placements: readonly Placement[],
  takeTurn: () => Promise<void>,
) => Promise<readonly ProvenOrder[] | Refusal>;

/**
 * Hashes each order and recovers its signer (Interface 5.3), up to the first that is not the maker: 403
 * `invalid_signature`. CPU alone, some 75 µs per order: libsecp256k1's recover is nearly all of it.
 */
export function createOrderVerifier(domain: SigningDomain): VerifyOrders {
  const hasher = createOrderHasher(domain);
  return async (placements, takeTurn) => {
    const proven: ProvenOrder[] = [];
    for (const [index, { order, signature: hex }] of placements.entries()) {
      if (placements.length > SIGNATURES_PER_TURN && index % SIGNATURES_PER_TURN === 0) await takeTurn();
      const signature = parseSignature(hex);
      if (isSignatureRefusal(signature)) return refuse(index, describeSignature(signature));
      const digest = hasher.hashOrder(order);
      const signer = recoverAddress(digest, signature);
      if (signer !== order.maker) {
        return refuse(
          index,
          signer === undefined ? 'no key can have made it' : `it recovers to ${signer}, not to ${order.maker}`,
        );
      }
      proven.push({ order, orderHash: bytesToHex(digest), signature: hex });
    }
    return proven;
  };
}

/** What is wrong with a signature, for a person. */
export function describeSignature({ code }: SignatureRefusal): string {
  switch (code) {
    case 'not_hex':
      return 'it is not hex';
    case 'wrong_length':
      return 'it has neither 65 bytes (r, s, v) nor 64 (EIP-2098)';
    case 'wrong_v':
      return 'its v is none of 0, 1, 27, 28';
    case 'out_of_range':
      return 'its r or s is zero or beyond the order of the curve';
    case 'high_s':
      return 'its s is in the upper half: sign with low s';
  }
}

function refuse(index: number, why: string): Refusal {
  const detail = `the signature is not the maker's: ${why}`;
  return { code: 'invalid_signature', detail, index, errors: [{ pointer: `/${index}/signature`, detail: why }] };
}
