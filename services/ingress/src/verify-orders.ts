import { bytesToHex, createOrderHasher, type SigningDomain } from '@makerbook/contracts-evm';
import type { ProvenOrder } from '@makerbook/domain';
import type { Refusal } from '@makerbook/http';
import { recoverSigner } from '@makerbook/signatures';
import type { Placement } from './parse-placements.js';
import { SIGNATURES_PER_SLICE } from './yield-slices.js';

export type VerifyOrders = ReturnType<typeof createOrderVerifier>;

/**
 * Hashes each order and recovers its signer, up to the first that is not the maker it names: 403 `invalid_signature`. CPU
 * alone: libsecp256k1's recover is nearly all of it. `nextSlice` is awaited for requests of more than one slice.
 */
export function createOrderVerifier(domain: SigningDomain) {
  const hasher = createOrderHasher(domain);
  return async (
    placements: readonly Placement[],
    nextSlice: () => Promise<void>,
  ): Promise<readonly ProvenOrder[] | Refusal> => {
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
