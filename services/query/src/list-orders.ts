import type { Hex } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply } from '@makerbook/http';
import type { ReplayGuard } from '@makerbook/redis';
import { describeSpan } from '@makerbook/telemetry';
import { type AdmissionRules, admitRequest } from './admit-request.js';
import { parseListRequest } from './parse-list-request.js';
import type { Listing } from './read-list.js';

export interface ListOrdersParts {
  readonly rules: AdmissionRules;
  /** Whether the whitelist was read: until then no maker can be refused by it. */
  readonly isWhitelistKnown: () => boolean;
  readonly replays: ReplayGuard;
  readonly readList: (maker: Hex, nowSeconds: number) => Promise<Listing | undefined>;
  readonly nowMs: () => number;
  readonly metrics: ListOrdersMetrics;
}

/** Counters of listed orders. */
export interface ListOrdersMetrics {
  readonly listed: (listing: Listing) => void;
  readonly checkedLocally: () => void;
}

/**
 * GET of a maker's limit orders (Interface 4.2). Checks in order: shape, time window, signature, whitelist, replay; then
 * the list. A request that could not be answered may be sent again unchanged.
 */
export async function listOrders({ query }: Pick<ApiRequest, 'query'>, parts: ListOrdersParts): Promise<Reply> {
  const request = parseListRequest(query);
  if (isRefusal(request)) return request;
  if (!parts.isWhitelistKnown()) return unavailable('the whitelist is still being read');
  const nowSeconds = Math.floor(parts.nowMs() / 1000);
  const admission = admitRequest(request, parts.rules, nowSeconds);
  if (isRefusal(admission)) return admission;
  const { maker } = admission;
  describeSpan({ 'makerbook.maker': maker });
  const taken = await parts.replays.takeSalt(maker, request.salt);
  if (taken === 'used') {
    return { code: 'request_replayed', detail: 'this salt was used already; sign a new request with a fresh one' };
  }
  if (taken === 'takenLocally') parts.metrics.checkedLocally();
  const listing = await parts.readList(maker, Math.floor(parts.nowMs() / 1000));
  if (listing === undefined) {
    await parts.replays.releaseSalt(maker, request.salt);
    return unavailable('neither the cache nor the store of orders answers; try again');
  }
  parts.metrics.listed(listing);
  return listing.lag === 0n
    ? okJson(listing.body)
    : okJson(listing.body, { 'X-Read-Lag': listing.lag === undefined ? 'unknown' : String(listing.lag) });
}

function unavailable(detail: string): Refusal {
  return { code: 'unavailable', detail };
}
