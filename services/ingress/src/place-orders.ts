import type { MakerLimits, OrderCancelled } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import {
  type Budget,
  checkAdmission,
  checkTerms,
  type Refusal as DomainRefusal,
  type FoundHash,
  IN_FLIGHT_RETRY_MS,
  type Order,
  type Placement,
  type ProvenOrder,
  placeOrders,
  REQUEST_AGE_MS_MAX,
  type Replacement,
  recordEnd,
  recordStart,
  refuseLate,
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
import { type AppendedAt, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { unlessAway } from '@makerbook/postgres';
import { acknowledge } from './acknowledge/acknowledge-facts.js';
import { appendDecided, release } from './append/append-facts.js';
import type { Decided } from './decide/decide-together.js';
import { type Placement as Parsed, parsePlacements, parseValidUntil } from './parse/parse-placements.js';
import { type Parts, settledMsOf } from './parts.js';
import { describeBudget, refuse } from './refuse-placements.js';

/** An operator decides when orders are taken again: minutes, and not a second. */
const CANCEL_ONLY_RETRY_SECONDS = 30;
const POLL_MS = 20;
const POLL_MS_MAX = 200;

/**
 * POST /v0alpha/limit-orders: all orders of the request are stored, or none. Check by check over the whole request, and in
 * each the lowest index first: shape, terms, `Valid-Until`, whitelist, signature, rate, timeliness, duplicates, open and
 * remembered orders. 200 means that the log has acknowledged every order.
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
  const stored = await storeOrders(parts, request, placementOf(parts, proven, validUntilMs), proven);
  if (isRefusal(stored)) return stored;
  const placed = proven.map(({ orderHash }) => orderHash);
  const headers = await acknowledge(parts, request, stored.appended, { placed }, false);
  return okJson(describeAccepted(proven), { ...stored.headers, ...headers });
}

/** Makes the checks that need no store: terms, `Valid-Until`, whitelist, signatures. */
export async function proveOrders(
  parts: Parts,
  request: ApiRequest,
  placements: readonly Parsed[],
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

/** Decides, and appends what was decided with these facts: all of them, or nothing. */
export async function storeOrders(
  parts: Parts,
  request: ApiRequest,
  asked: Placement | Replacement,
  proven: readonly ProvenOrder[],
  cancelled: readonly OrderCancelled[] = [],
): Promise<Stored | Refusal> {
  const { metrics } = parts;
  const { requestId } = request;
  const startedAt = performance.now();
  const decided = await decideInTime(parts, request, asked);
  metrics.took('decide', startedAt);
  if (isRefusal(decided)) return decided;
  const { nowMs, decisions } = decided;
  const facts = [...cancelled, ...placeOrders(proven, nowMs, { kind: 'request', requestId })];
  const appended = await appendDecided(parts, facts, { requestId, timeMs: nowMs, decisions });
  if (appended instanceof LogUnavailable) {
    return unavailable(
      'the log did not confirm the orders: send the same request again; `duplicate` then says that they were stored',
      appended.mayHaveBeenAppended ? IN_FLIGHT_RETRY_MS / 1000 : undefined,
    );
  }
  metrics.ordersAccepted(proven.length);
  return { headers: describeBudget(decided.left), appended };
}

interface Stored {
  readonly headers: ReplyHeaders;
  readonly appended: readonly AppendedAt[];
}

/**
 * Decides, and once more as long as another request places the same hash. What is stored too late is released: by the time of its
 * append a note may be forgotten, or the rows.
 */
async function decideInTime(
  parts: Parts,
  { requestId, receivedAtMs, charge }: ApiRequest,
  asked: Placement | Replacement,
): Promise<Decided | Refusal> {
  const { settings, trust, monotonicMs, pause } = parts;
  const deadlineMs = monotonicMs() + settings.PLACE_WAIT_MS;
  for (let pollMs = POLL_MS; ; pollMs = Math.min(2 * pollMs, POLL_MS_MAX)) {
    const decided = await unlessAway(parts.decide({ requestId, receivedAtMs, request: asked }));
    if (decided === undefined) return unavailable('nothing was stored: the store of orders does not answer');
    const { refusal, left, ofClient, begunAtMs, decisions } = decided;
    if (refusal?.cause === 'in_flight' && monotonicMs() < deadlineMs) {
      await pause(pollMs);
      continue;
    }
    if (ofClient > 0) await charge(ofClient);
    if (refusal?.cause === 'untrusted') trust.noteLoss();
    if (refusal !== undefined) return inListOf(asked, refusal, refuse(refusal, left));
    const nowMs = monotonicMs();
    if (nowMs - begunAtMs <= settings.POSTGRES_TIMEOUT_MS && nowMs - receivedAtMs <= REQUEST_AGE_MS_MAX) return decided;
    await release(parts, requestId, decisions);
    return unavailable('nothing was stored: the store of orders took too long');
  }
}

/** Points to the item in its list of the body, where the request has two. */
function inListOf(asked: Placement | Replacement, { list }: DomainRefusal, refusal: Refusal): Refusal {
  return asked.kind === 'placement' ? refusal : inList(list ?? 'place', refusal);
}

/** Points to the item in its list of the body. */
export function inList(list: 'cancel' | 'place', refusal: Refusal): Refusal {
  const { errors, index, detail } = refusal;
  const places = errors ?? (index === undefined ? [] : [{ pointer: `/${index}`, detail }]);
  if (places.length === 0) return refusal;
  return { ...refusal, errors: places.map((place) => ({ ...place, pointer: `/${list}${place.pointer}` })) };
}

/** Refuses what needs no signature: a stranger costs a look-up. */
async function refuseUnseen(
  parts: Parts,
  orders: readonly Order[],
  validUntilMs: number | undefined,
): Promise<Refusal | undefined> {
  const { settings, makers, rows, now } = parts;
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
  if (rows.lagSeconds() > settings.PROJECTION_LAG_SECONDS_MAX)
    return unavailable('nothing was stored: the read model is behind the log');
  return undefined;
}

/** Refuses orders whose `Valid-Until` has passed by the clock here. */
async function refuseLateBy({ find }: Parts, hashes: readonly Hex[]): Promise<Refusal> {
  const found = await unlessAway(find(hashes, false));
  return refuse(refuseLate((found?.hashes ?? []).map(isAccepted)));
}

export function isAccepted(found: FoundHash): boolean {
  return found.state === 'GONE' || (found.state === 'FOUND' && !found.isInFlight);
}

/** The service's limits where the maker has none of its own. */
export function orderBudgetOf(settings: Parts['settings'], limits: MakerLimits): Budget {
  return {
    ratePerSecond: limits.ordersPerSecond ?? settings.ORDER_BUDGET_PER_SECOND,
    burst: limits.ordersBurst ?? settings.ORDER_BUDGET_BURST,
  };
}

const validating = recordEnd({ status: 'VALIDATING' });

/** The records in the order of the request. They are hex and names: one byte per character. */
export function describeAccepted(proven: readonly ProvenOrder[]): Buffer {
  return Buffer.from(`[${proven.map((order) => recordStart(order) + validating).join(',')}]`, 'latin1');
}

/** What is asked of the domain. */
export function placementOf(
  { settings, makers }: Parts,
  proven: readonly ProvenOrder[],
  validUntilMs: number | undefined,
): Placement {
  const addresses = [...new Set(proven.map(({ order }) => order.maker))].sort();
  return {
    kind: 'placement',
    receivedAtMs: 0,
    lastsMs: settledMsOf(settings),
    validUntilMs,
    makers: addresses.map((maker) => {
      const limits = makers.limitsOf(maker);
      return {
        maker,
        partition: partitionOf(maker, settings.PARTITIONS),
        budget: orderBudgetOf(settings, limits),
        openOrdersMax: limits.openOrdersMax ?? settings.MAX_OPEN_ORDERS_PER_MAKER,
        nonce: makers.nonceOf(maker),
      };
    }),
    orders: proven,
    rememberedMax: settings.REMEMBERED_HASHES_PER_MAKER_MAX,
  };
}
