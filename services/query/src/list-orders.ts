import type { Hex } from '@makerbook/contracts-primitives';
import type { Budget } from '@makerbook/domain';
import {
  type ApiRequest,
  isRefusal,
  okJson,
  type Refusal,
  type Reply,
  type ReplyHeaders,
  rateHeaders,
} from '@makerbook/http';
import type { ListState } from '@makerbook/postgres';
import type { ReplayGuard, Taken } from '@makerbook/redis';
import { type AdmissionRules, admitRequest } from './admit-request.js';
import { parseListRequest } from './parse-list-request.js';
import type { Listing } from './read-list.js';
import type { Page } from './take-page.js';

export interface ListOrdersParts {
  readonly rules: AdmissionRules;
  /** True once the whitelist was read: until then it cannot refuse a maker. */
  readonly isWhitelistKnown: () => boolean;
  readonly replays: ReplayGuard;
  /** Lists of one maker. */
  readonly budget: Budget;
  /** Undefined where Postgres is away. */
  readonly readState: (maker: Hex) => Promise<ListState | undefined>;
  /** Undefined where no list is known. */
  readonly readList: (
    maker: Hex,
    state: ListState | undefined,
    asked: { readonly page: Page; readonly nowSeconds: number },
  ) => Promise<Listing | undefined>;
  readonly nowMs: () => number;
  readonly metrics: ListOrdersMetrics;
}

/** Counters of listed orders. */
export interface ListOrdersMetrics {
  readonly listed: (listing: Listing) => void;
  readonly checkedLocally: () => void;
}

/**
 * GET of a maker's limit orders. Checks in order: shape, time window, signature, whitelist, replay, the
 * maker's budget; then the list. A request that was refused for its budget, or could not be answered, may be sent again
 * unchanged.
 */
export async function listOrders({ query, describe }: ApiRequest, parts: ListOrdersParts): Promise<Reply> {
  const request = parseListRequest(query);
  if (isRefusal(request)) return request;
  if (!parts.isWhitelistKnown()) return unavailable('the whitelist is still being read');
  const nowSeconds = Math.floor(parts.nowMs() / 1000);
  const admission = admitRequest(request, parts.rules, nowSeconds);
  if (isRefusal(admission)) return admission;
  const { maker } = admission;
  describe({ maker });
  const [taken, state] = await Promise.all([
    parts.replays.takeSalt(maker, request.salt, parts.nowMs()),
    parts.readState(maker),
  ]);
  if (taken.kind === 'used') {
    return { code: 'request_replayed', detail: 'this salt was used already; sign a new request with a fresh one' };
  }
  if (taken.kind === 'takenLocally') parts.metrics.checkedLocally();
  const limits = describeBudget(parts.budget, maker, taken);
  if (taken.kind === 'rate_limited') {
    const detail = `the maker's budget of ${parts.budget.ratePerSecond} lists per second is spent`;
    return { code: 'rate_limited', detail, headers: limits };
  }
  const listing = await parts.readList(maker, state, { page: request.page, nowSeconds });
  if (listing === undefined) {
    await parts.replays.releaseSalt(maker, request.salt);
    return unavailable('the store of orders does not answer, and the list is not known without it; try again');
  }
  parts.metrics.listed(listing);
  const { body, etag, version, nextCursor, lag } = listing;
  return okJson(body, {
    ...limits,
    'Cache-Control': 'private, no-store',
    ETag: etag,
    'X-List-Version': String(version),
    ...(nextCursor === undefined ? {} : { 'X-Next-Cursor': nextCursor }),
    ...(lag === 0 ? {} : { 'X-Read-Lag': lag === undefined ? 'unknown' : String(lag) }),
  });
}

/** Returns no headers while Redis is away, because the budget is unknown. */
function describeBudget(budget: Budget, maker: Hex, taken: Exclude<Taken, { kind: 'used' }>): ReplyHeaders {
  if (taken.kind === 'takenLocally') return {};
  const retryAfterMs = taken.kind === 'rate_limited' ? taken.retryAfterMs : undefined;
  return rateHeaders('lists', [{ maker, budget }], [taken.remaining], retryAfterMs);
}

function unavailable(detail: string): Refusal {
  return { code: 'unavailable', detail };
}
