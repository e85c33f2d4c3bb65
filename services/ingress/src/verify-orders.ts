import { bytesToHex, createOrderHasher, type SigningDomain } from '@makerbook/contracts-evm';
import type { ProvenOrder } from '@makerbook/domain';
import type { Refusal } from '@makerbook/http';
import { describeSignatureRefusal, isSignatureRefusal, parseSignature, recoverAddress } from '@makerbook/signatures';
import { SIGNATURES_PER_SLICE } from './fair-queue.js';
import type { Placement } from './parse-placements.js';

/**
 * Proves that each order was signed by the maker it names.
 * @param nextSlice resolves when the next slice may be verified; called for requests of more than one slice
 */
export type VerifyOrders = (
  placements: readonly Placement[],
  nextSlice: () => Promise<void>,
) => Promise<readonly ProvenOrder[] | Refusal>;

/**
 * Hashes each order and recovers its signer, up to the first that is not the maker: 403
 * `invalid_signature`. CPU alone: libsecp256k1's recover is nearly all of it.
 */
export function createOrderVerifier(domain: SigningDomain): VerifyOrders {
  const hasher = createOrderHasher(domain);
  return async (placements, nextSlice) => {
    const proven: ProvenOrder[] = [];
    for (const [index, { order, signature: hex }] of placements.entries()) {
      if (placements.length > SIGNATURES_PER_SLICE && index % SIGNATURES_PER_SLICE === 0) await nextSlice();
      const signature = parseSignature(hex);
      if (isSignatureRefusal(signature)) return refuse(index, describeSignatureRefusal(signature));
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

function refuse(index: number, why: string): Refusal {
  const detail = `the signature is not the maker's: ${why}`;
  return { code: 'invalid_signature', detail, index, errors: [{ pointer: `/${index}/signature`, detail: why }] };
}
