import type { OrderCancelled } from '@makerbook/contracts-events';
import {
  IN_FLIGHT_RETRY_MS,
  type Placement,
  type ProvenOrder,
  type Replacement,
  recordEnd,
  recordStart,
  submittedFacts,
} from '@makerbook/domain';
import {
  type ApiRequest,
  isRefusal,
  okJson,
  type Refusal,
  type Reply,
  type ReplyHeaders,
  unavailable,
} from '@makerbook/http';
import { type AppendedAt, LogUnavailable } from '@makerbook/kafka';
import { acknowledge } from './acknowledge/acknowledge-facts.js';
import { type AppendingParts, appendDecided } from './append/append-facts.js';
import { type DecidingParts, decideInTime, placementOf, serverTime } from './decide/decide-in-time.js';
import { parsePlacements, parseValidUntil } from './parse/parse-placements.js';
import type { Parts } from './parts.js';
import { describeBudget } from './refuse-placements.js';
import { proveOrders } from './verify/prove-orders.js';

/**
 * Answers POST /v0alpha/limit-orders: all orders of the request are stored, or none. Makes each check over the whole
 * request, the lowest index first: shape, terms, `Valid-Until`, whitelist, signature, rate, timeliness, duplicates,
 * open and remembered orders. 200 means that the log has acknowledged every order.
 */
export async function place(parts: Parts, request: ApiRequest): Promise<Reply> {
  const startedAt = performance.now();
  const placements = parsePlacements(request.body, parts.settings.MAX_ORDERS_PER_POST);
  if (isRefusal(placements)) return placements;
  request.describe({ maker: placements[0]?.order.maker, orders: placements.length });
  const validUntilMs = parseValidUntil(request.headers);
  if (typeof validUntilMs === 'object') return validUntilMs;
  const proven = await proveOrders(parts, request, placements, validUntilMs, startedAt);
  if (isRefusal(proven)) return proven;
  const accepted = await decideAndAppend(parts, request, placementOf(parts, proven, validUntilMs), proven);
  if (isRefusal(accepted)) return accepted;
  const placed = proven.map(({ orderHash }) => orderHash);
  const headers = await acknowledge(parts, request, accepted.appended, { placed }, false);
  return okJson(describeAccepted(proven), { ...accepted.headers, ...headers });
}

/** Decides, and appends what was decided together with these facts: all or nothing. */
export async function decideAndAppend(
  parts: DecidingParts & AppendingParts,
  request: ApiRequest,
  asked: Placement | Replacement,
  proven: readonly ProvenOrder[],
  cancelled: readonly OrderCancelled[] = [],
): Promise<Accepted | Refusal> {
  const { metrics } = parts;
  const { requestId } = request;
  const startedAt = performance.now();
  const decided = await decideInTime(parts, request, asked);
  metrics.took('decide', startedAt);
  if (isRefusal(decided)) return decided;
  const { nowMs, decisions } = decided;
  const headers = serverTime(nowMs);
  const facts = [...cancelled, ...submittedFacts(proven, nowMs, { kind: 'request', requestId })];
  const appended = await appendDecided(parts, facts, { requestId, timeMs: nowMs, decisions });
  if (appended instanceof LogUnavailable) {
    const detail =
      'the log did not confirm the orders: send the same request again; `duplicate` then means that they were stored';
    const refusal = unavailable(detail, appended.mayHaveBeenAppended ? IN_FLIGHT_RETRY_MS / 1000 : undefined);
    return { ...refusal, headers: { ...refusal.headers, ...headers } };
  }
  metrics.ordersAccepted(proven.length);
  return { headers: { ...describeBudget(decided.left), ...headers }, appended };
}

interface Accepted {
  readonly headers: ReplyHeaders;
  readonly appended: readonly AppendedAt[];
}

const validating = recordEnd({ status: 'VALIDATING' });

/** The records in the order of the request. They are hex and names, so each character is one byte. */
export function describeAccepted(proven: readonly ProvenOrder[]): Buffer {
  return Buffer.from(`[${proven.map((order) => recordStart(order) + validating).join(',')}]`, 'latin1');
}
