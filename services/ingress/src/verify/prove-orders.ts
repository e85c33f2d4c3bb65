import { bytesToHex } from '@makerbook/contracts-evm';
import { unlessAway } from '@makerbook/contracts-primitives';
import { checkAdmission, checkTerms, type Order, type ProvenOrder, refuseLate, wasAccepted } from '@makerbook/domain';
import { type ApiRequest, isRefusal, type Refusal, unavailable } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { recoverSigner } from '@makerbook/signatures';
import type { PostedOrder } from '../parse/parse-placements.js';
import type { Parts } from '../parts.js';
import { refuse } from '../refuse-placements.js';
import { askAbout, type Doubt } from './ask-about.js';
import { SIGNATURES_PER_SLICE } from './yield-slices.js';

/** An operator decides when orders are taken again. That takes minutes, not a second. */
const CANCEL_ONLY_RETRY_SECONDS = 30;

type CheckingParts = Pick<Parts, 'settings' | 'makers' | 'projection' | 'now' | 'findHashes' | 'hashOrder'>;
type SigningParts = Pick<Parts, 'hashOrder' | 'askWallets' | 'nextSlice'>;

/** Makes the checks that need no store: terms, `Valid-Until`, whitelist, signatures. */
export async function proveOrders(
  parts: CheckingParts & SigningParts & Pick<Parts, 'metrics'>,
  request: ApiRequest,
  placements: readonly PostedOrder[],
  validUntilMs: number | undefined,
  startedAt: number,
): Promise<readonly ProvenOrder[] | Refusal> {
  const { metrics } = parts;
  const orders = placements.map(({ order }) => order);
  const refusal = await refuseBeforeSignatures(parts, orders, validUntilMs);
  if (refusal !== undefined) return refusal;
  const parsedAt = metrics.took('parse', startedAt);
  const proven = await proveSignatures(parts, request, placements);
  metrics.took('verify', parsedAt);
  return proven;
}

/** Checks terms, `Valid-Until`, whitelist and lag. So a stranger costs a look-up, and no recovery. */
async function refuseBeforeSignatures(
  parts: CheckingParts,
  orders: readonly Order[],
  validUntilMs: number | undefined,
): Promise<Refusal | undefined> {
  const { settings, makers, projection, now } = parts;
  const badTerms = checkTerms(orders);
  if (badTerms !== undefined) return refuse(badTerms);
  if (validUntilMs !== undefined && now() > validUntilMs) return refuseLateBy(parts, orders);
  if (!makers.isCaughtUp()) return unavailable('the whitelist is still being read');
  const notAdmitted = checkAdmission(orders, makers.admissionOf);
  if (notAdmitted !== undefined) return refuse(notAdmitted);
  if (makers.isCancelOnly()) {
    const detail = 'the service takes no new orders for now; cancelling and listing still work';
    return { ...unavailable(detail, CANCEL_ONLY_RETRY_SECONDS), measuredAs: 'cancel_only' };
  }
  const partitions = new Set(orders.map(({ maker }) => partitionOf(maker, settings.PARTITIONS)));
  if (projection.lagSeconds(partitions) > settings.PROJECTION_LAG_SECONDS_MAX)
    return unavailable('nothing was stored: the read model is behind the log');
  return undefined;
}

/** Refuses orders whose `Valid-Until` has passed by the clock here. */
async function refuseLateBy({ findHashes, hashOrder }: CheckingParts, orders: readonly Order[]): Promise<Refusal> {
  const hashes = orders.map((order) => bytesToHex(hashOrder(order)));
  const found = await unlessAway(findHashes(hashes, false));
  return refuse(refuseLate((found ?? []).map(wasAccepted)));
}

/**
 * Hashes each order and recovers its signer, up to the first that is not the maker it names: 403 `invalid_signature`.
 * Uses only the CPU, nearly all of it in libsecp256k1's recover. Awaits `nextSlice` for requests of more than one
 * slice. If no key has signed, asks the maker's contract. Without `askWallets` the order is refused.
 */
export async function proveSignatures(
  { hashOrder, askWallets, nextSlice }: SigningParts,
  request: Pick<ApiRequest, 'client' | 'charge'>,
  placements: readonly PostedOrder[],
): Promise<readonly ProvenOrder[] | Refusal> {
  const proven: ProvenOrder[] = [];
  const doubts: Doubt[] = [];
  for (const [index, { order, signature }] of placements.entries()) {
    if (placements.length > SIGNATURES_PER_SLICE && index % SIGNATURES_PER_SLICE === 0) await nextSlice();
    const digest = hashOrder(order);
    const { signer, fault = `it recovers to ${signer}, not to ${order.maker}` } = recoverSigner(digest, signature);
    const byWallet = signer !== order.maker;
    if (byWallet && askWallets === undefined) return refuseSignature(index, fault);
    const orderHash = bytesToHex(digest);
    if (byWallet) doubts.push({ index, fault, wallet: order.maker, digests: [orderHash], signature });
    proven.push({ order, orderHash, signature, byWallet });
  }
  const doubt = askWallets && (await askAbout(askWallets, doubts, request, false));
  if (doubt === undefined) return proven;
  return isRefusal(doubt) ? doubt : refuseSignature(doubt.index, doubt.fault);
}

function refuseSignature(index: number, fault: string): Refusal {
  const detail = `the signature is not the maker's: ${fault}`;
  return { code: 'invalid_signature', detail, index, errors: [{ pointer: `/${index}/signature`, detail: fault }] };
}
