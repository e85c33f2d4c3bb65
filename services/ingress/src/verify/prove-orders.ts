import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { checkAdmission, checkTerms, type Order, type ProvenOrder, refuseLate, wasAccepted } from '@makerbook/domain';
import { type ApiRequest, type Refusal, unavailable } from '@makerbook/http';
import type { Placement } from '../parse/parse-placements.js';
import type { Parts } from '../parts.js';
import { refuse } from '../refuse-placements.js';

/** An operator decides when orders are taken again: minutes, and not a second. */
const CANCEL_ONLY_RETRY_SECONDS = 30;

export type ProvingParts = Pick<
  Parts,
  'settings' | 'makers' | 'projection' | 'now' | 'findHashes' | 'hashOrder' | 'verifyOrders' | 'nextSlice' | 'metrics'
>;

/** Makes the checks that need no store: terms, `Valid-Until`, whitelist, signatures. */
export async function proveOrders(
  parts: ProvingParts,
  request: ApiRequest,
  placements: readonly Placement[],
  validUntilMs: number | undefined,
  startedAt: number,
): Promise<readonly ProvenOrder[] | Refusal> {
  const { metrics, nextSlice } = parts;
  const orders = placements.map(({ order }) => order);
  const refusal = await refuseUnseen(parts, orders, validUntilMs);
  if (refusal !== undefined) return refusal;
  const parsedAt = metrics.took('parse', startedAt);
  const proven = await parts.verifyOrders(placements, nextSlice, request);
  metrics.took('verify', parsedAt);
  return proven;
}

/** Refuses what needs no signature: a stranger costs a look-up. */
async function refuseUnseen(
  parts: ProvingParts,
  orders: readonly Order[],
  validUntilMs: number | undefined,
): Promise<Refusal | undefined> {
  const { settings, makers, projection, now } = parts;
  const badTerms = checkTerms(orders);
  if (badTerms !== undefined) return refuse(badTerms);
  if (validUntilMs !== undefined && now() > validUntilMs) return refuseLateBy(parts, orders.map(parts.hashOrder));
  if (!makers.isCaughtUp()) return unavailable('the whitelist is still being read');
  const notAdmitted = checkAdmission(orders, makers.admissionOf);
  if (notAdmitted !== undefined) return refuse(notAdmitted);
  if (makers.isCancelOnly()) {
    const detail = 'the service takes no new orders for now; cancelling and listing go on';
    return { ...unavailable(detail, CANCEL_ONLY_RETRY_SECONDS), measuredAs: 'cancel_only' };
  }
  if (projection.lagSeconds() > settings.PROJECTION_LAG_SECONDS_MAX)
    return unavailable('nothing was stored: the read model is behind the log');
  return undefined;
}

/** Refuses orders whose `Valid-Until` has passed by the clock here. */
async function refuseLateBy({ findHashes }: Pick<Parts, 'findHashes'>, hashes: readonly Hex[]): Promise<Refusal> {
  const found = await unlessAway(findHashes(hashes, false));
  return refuse(refuseLate((found ?? []).map(wasAccepted)));
}
