import type { Hex, UnixMs } from '@makerbook/contracts-primitives';
import type { Budget } from '@makerbook/domain';
import { type ApiRequest, isRefusal, type Reply, type ReplyHeaders, rateHeaders, unavailable } from '@makerbook/http';
import { type AdmissionRules, type Admitted, admitRequest, type SignedRequest } from './admit-request.js';
import type { ReplayGuard, Taken } from './redis/guard-replays.js';
import type { ListState } from './store/read-lists.js';

export interface SignedParts {
  readonly rules: AdmissionRules;
  /** True once the whitelist was read: until then it cannot refuse a maker. */
  readonly isWhitelistKnown: () => boolean;
  readonly replays: ReplayGuard;
  /** Signed requests of one maker. */
  readonly budget: Budget;
  /** Undefined where Postgres is away. */
  readonly readState: (maker: Hex) => Promise<ListState | undefined>;
  readonly unixMs: () => UnixMs;
  /** Counts a request whose replay only this process could have noticed. */
  readonly checkedLocally: () => void;
}

/** The maker who asks, and what is known of its list when the request was admitted. */
export interface Asker extends Admitted {
  readonly state: ListState | undefined;
  readonly nowSeconds: number;
  /** What is left of its budget of signed requests; undefined while Redis is away. */
  readonly listsLeft?: number | undefined;
}

/**
 * Answers a signed request of a maker. Checks in order: time window, signature, whitelist, replay, the maker's budget. A
 * request that was refused for its budget, or is answered `unavailable`, may be sent again unchanged.
 */
export async function answerSigned(
  { describe, client, charge }: Pick<ApiRequest, 'describe' | 'client' | 'charge'>,
  request: SignedRequest,
  parts: SignedParts,
  answer: (asker: Asker) => Promise<Reply>,
): Promise<Reply> {
  if (!parts.isWhitelistKnown()) return unavailable('the whitelist is still being read');
  const nowSeconds = Math.floor(parts.unixMs() / 1000);
  const admitted = await admitRequest(request, parts.rules, nowSeconds, { client, charge });
  if (isRefusal(admitted)) return admitted;
  const { maker } = admitted;
  describe({ maker });
  const [taken, state] = await Promise.all([
    parts.replays.takeSalt(maker, request.salt, parts.unixMs()),
    parts.readState(maker),
  ]);
  if (taken.kind === 'used') {
    return { code: 'request_replayed', detail: 'this salt was used already; sign a new request with a fresh one' };
  }
  if (taken.kind === 'takenLocally') parts.checkedLocally();
  const limits = describeBudget(parts.budget, maker, taken);
  if (taken.kind === 'rate_limited') {
    const detail = `the maker's budget of ${parts.budget.ratePerSecond} lists per second is spent`;
    return { code: 'rate_limited', detail, headers: limits };
  }
  const listsLeft = taken.kind === 'taken' ? taken.remaining : undefined;
  const reply = await answer({ ...admitted, state, nowSeconds, listsLeft });
  if (isRefusal(reply) && ['unavailable', 'rate_limited'].includes(reply.code))
    await parts.replays.releaseSalt(maker, request.salt);
  return { ...reply, headers: { ...limits, ...reply.headers } };
}

export const listUnknown = unavailable(
  'the store of orders does not answer, and the list is not known without it; try again',
);

/** How many of the maker's own writes an answer may not show yet; undefined where that is not known. */
export function lagHeader(lag: number | undefined): ReplyHeaders {
  return lag === 0 ? {} : { 'X-Read-Lag': lag === undefined ? 'unknown' : String(lag) };
}

/** Returns no headers while Redis is away, because the budget is unknown. */
function describeBudget(budget: Budget, maker: Hex, taken: Exclude<Taken, { kind: 'used' }>): ReplyHeaders {
  if (taken.kind === 'takenLocally') return {};
  const retryAfterMs = taken.kind === 'rate_limited' ? taken.retryAfterMs : undefined;
  return rateHeaders('lists', [{ maker, budget }], [taken.remaining], retryAfterMs);
}
