import { bytesToHex, createOrderHasher, type SigningDomain } from '@makerbook/contracts-evm';
import type { ProvenOrder } from '@makerbook/domain';
import type { Refusal } from '@makerbook/http';
import { recoverSigner } from '@makerbook/signatures';
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
    for (const [index, { order, signature }] of placements.entries()) {
      if (placements.length > SIGNATURES_PER_SLICE && index % SIGNATURES_PER_SLICE === 0) await nextSlice();
      const digest = hasher.hashOrder(order);
      const { signer, fault = `it recovers to ${signer}, not to ${order.maker}` } = recoverSigner(digest, signature);
      if (signer !== order.maker) return refuse(index, fault);
      proven.push({ order, orderHash: bytesToHex(digest), signature });
    }
    return proven;
  };
}

function refuse(index: number, why: string): Refusal {
  const detail = `the signature is not the maker's: ${why}`;
  return { code: 'invalid_signature', detail, index, errors: [{ pointer: `/${index}/signature`, detail: why }] };
}
