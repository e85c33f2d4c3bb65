import type { AskWallets } from '@makerbook/chain';
import { bytesToHex, createOrderHasher, type SigningDomain } from '@makerbook/contracts-evm';
import type { ProvenOrder } from '@makerbook/domain';
import { type ApiRequest, isRefusal, type Refusal } from '@makerbook/http';
import { recoverSigner } from '@makerbook/signatures';
import type { Placement } from '../parse/parse-placements.js';
import { askAbout, type Doubt } from './ask-about.js';
import { SIGNATURES_PER_SLICE } from './yield-slices.js';

export type VerifyOrders = ReturnType<typeof createOrderVerifier>;

/**
 * Hashes each order and recovers its signer, up to the first that is not the maker it names: 403 `invalid_signature`.
 * CPU alone: libsecp256k1's recover is nearly all of it. `nextSlice` is awaited for requests of more than one slice.
 * @param askWallets asks the contract of the maker about what no key has signed; without it that is refused
 */
export function createOrderVerifier(domain: SigningDomain, askWallets?: AskWallets) {
  const hasher = createOrderHasher(domain);
  return async (
    placements: readonly Placement[],
    nextSlice: () => Promise<void>,
    request: Pick<ApiRequest, 'client' | 'charge'>,
  ): Promise<readonly ProvenOrder[] | Refusal> => {
    const proven: ProvenOrder[] = [];
    const doubts: Doubt[] = [];
    for (const [index, { order, signature }] of placements.entries()) {
      if (placements.length > SIGNATURES_PER_SLICE && index % SIGNATURES_PER_SLICE === 0) await nextSlice();
      const digest = hasher.hashOrder(order);
      const { signer, fault = `it recovers to ${signer}, not to ${order.maker}` } = recoverSigner(digest, signature);
      const byWallet = signer !== order.maker;
      if (byWallet && askWallets === undefined) return refuse(index, fault);
      const orderHash = bytesToHex(digest);
      if (byWallet) doubts.push({ index, fault, wallet: order.maker, digests: [orderHash], signature });
      proven.push({ order, orderHash, signature, byWallet });
    }
    const doubt = askWallets && (await askAbout(askWallets, doubts, request, false));
    if (doubt === undefined) return proven;
    return isRefusal(doubt) ? doubt : refuse(doubt.index, doubt.fault);
  };
}

function refuse(index: number, why: string): Refusal {
  const detail = `the signature is not the maker's: ${why}`;
  return { code: 'invalid_signature', detail, index, errors: [{ pointer: `/${index}/signature`, detail: why }] };
}
