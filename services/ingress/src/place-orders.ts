import type { MakerLimits, OrderCancelled } from '@makerbook/contracts-events';
import { quantity } from '@makerbook/contracts-primitives';
import {
  type Budget,
  boundedSeconds,
  checkAdmission,
  checkRepeats,
  checkTerms,
  checkTimeliness,
  type Order,
  type ProvenOrder,
  placeOrders,
  recordEnd,
  recordStart,
} from '@makerbook/domain';
import {
  type ApiRequest,
  isRefusal,
  okJson,
  type Refusal,
  type Reply,
  type ReplyHeaders,
  rateHeaders,
  unavailable,
} from '@makerbook/http';
import { type AppendedAt, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { type PlaceOutcome, type PlaceRequest, unlessAway } from '@makerbook/postgres';
import { acknowledge } from './acknowledge-facts.js';
import { appendDecided, IN_FLIGHT_RETRY_SECONDS, release, type Written } from './append-facts.js';
import { REQUEST_AGE_MS_MAX } from './note-unknown.js';
import { type Placement, parsePlacements, parseValidUntil } from './parse-placements.js';
import { type Parts, settledMsOf } from './parts.js';
import { type Asked, refuse, refuseLate, refuseOutcome } from './refuse-placements.js';

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
  const stored = await storeOrders(parts, request, proven, validUntilMs);
  if (isRefusal(stored)) return stored;
  const placed = proven.map(({ orderHash }) => orderHash);
  const headers = await acknowledge(parts, request, stored.appended, { placed }, false);
  return okJson(describeAccepted(proven), { ...stored.headers, ...headers });
}

/** Makes the checks that need no store: terms, `Valid-Until`, whitelist, signatures. */
export async function proveOrders(
  parts: Parts,
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

/** Cancellations of the same maker that are stored with its orders, and what they have written in Postgres. */
export interface Replaced {
  readonly facts: readonly OrderCancelled[];
  readonly written: readonly Written[];
}

interface Stored {
  readonly headers: ReplyHeaders;
  readonly appended: readonly AppendedAt[];
}

/** Lets Postgres decide, and appends: all orders, and the cancellations with them, or nothing. */
export async function storeOrders(
  parts: Parts,
  request: ApiRequest,
  proven: readonly ProvenOrder[],
  validUntilMs: number | undefined,
  replaced: Replaced = { facts: [], written: [] },
): Promise<Stored | Refusal> {
  const { metrics, now } = parts;
  const { requestId } = request;
  const startedAt = performance.now();
  const acceptedAtMs = now();
  const outcome = await decideOrRefuse(parts, request, proven, validUntilMs, acceptedAtMs);
  metrics.took('decide', startedAt);
  if (isRefusal(outcome)) {
    await release(parts, replaced.written);
    return outcome;
  }
  const { headers } = outcome;
  const facts = placeOrders(proven, acceptedAtMs, { kind: 'request', requestId });
  const placed = { orderHashes: proven.map(({ orderHash }) => orderHash), untilMs: outcome.untilMs };
  const origin = { requestId, timeMs: acceptedAtMs, written: [...replaced.written, placed] };
  const appended = await appendDecided(parts, [...replaced.facts, ...facts], origin);
  if (appended instanceof LogUnavailable) {
    return unavailable(
      'the log did not confirm the orders: send the same request again; `duplicate` then says that they were stored',
      appended.mayHaveBeenAppended ? IN_FLIGHT_RETRY_SECONDS : undefined,
    );
  }
  metrics.ordersAccepted(proven.length);
  return { headers, appended };
}

interface Placed {
  readonly untilMs: number;
  readonly headers: ReplyHeaders;
}

/**
 * Lets Postgres decide. Untimely orders are judged after the rate limit. What anybody can repeat, a known or an untimely order,
 * is charged to the address that sends it, and the others to their makers.
 */
async function decideOrRefuse(
  parts: Parts,
  { receivedAtMs, charge }: ApiRequest,
  proven: readonly ProvenOrder[],
  validUntilMs: number | undefined,
  nowMs: number,
): Promise<Placed | Refusal> {
  const check = (orders: readonly Order[]) => checkTimeliness(orders, Math.floor(nowMs / 1000), parts.makers.nonceOf);
  const untimely = check(proven.map(({ order }) => order));
  const judged = [...proven.entries()].filter(([, { order }]) => check([order]) === undefined);
  await charge(proven.length - judged.length);
  if (untimely !== undefined && judged.length === 0) return refuse(untimely);
  const orders = judged.map(([, one]) => one);
  const repeat = checkRepeats(orders.map(({ orderHash }) => orderHash));
  const given = { receivedAtMs, chargeOnly: untimely !== undefined, firstRepeatAt: repeat?.index };
  const asked: Asked = { ...askFor(parts, orders), ...given };
  const outcome = await decide(parts, asked, validUntilMs);
  if (isRefusal(outcome)) return outcome;
  const headers = describeBudget(asked, outcome);
  if (outcome.kind === 'placed') return { untilMs: outcome.untilMs, headers };
  if ('known' in outcome) await charge(outcome.known);
  if (outcome.kind === 'charged' && untimely !== undefined) return { ...refuse(untimely), headers };
  const { index: at = 0, ...refused } = refuseOutcome(asked, outcome, repeat);
  return { ...refused, index: judged[at]?.[0] ?? 0, headers: { ...headers, ...refused.headers } };
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
  if (validUntilMs !== undefined && now() > validUntilMs) return refuseLate(parts, orders.map(parts.hashOrder));
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

/** Asks Postgres, and once more as long as another request places the same hash. */
async function decide(parts: Parts, asked: Asked, validUntilMs: number | undefined): Promise<PlaceOutcome | Refusal> {
  const { settings, store, trust, now, pause } = parts;
  const orderHashes = asked.orders.map(({ orderHash }) => orderHash);
  const deadlineMs = now() + settings.PLACE_WAIT_MS;
  let pollMs = POLL_MS;
  for (;;) {
    const nowMs = now();
    if (validUntilMs !== undefined && nowMs > validUntilMs) return refuseLate(parts, orderHashes);
    if (nowMs - asked.receivedAtMs > REQUEST_AGE_MS_MAX)
      return unavailable('nothing was stored: the request took too long');
    const outcome = await unlessAway(store.place({ ...asked, nowMs, lastsMs: settledMsOf(settings) }));
    if (outcome === undefined) return unavailable('nothing was stored: the store of orders does not answer');
    if (outcome.kind === 'untrusted') trust.noteLoss();
    if (outcome.kind === 'placed' && now() - nowMs > settings.POSTGRES_TIMEOUT_MS) {
      await release(parts, [{ orderHashes, untilMs: outcome.untilMs }]);
      return unavailable('nothing was stored: the store of orders took too long');
    }
    if (outcome.kind !== 'in_flight' || now() >= deadlineMs) return outcome;
    await pause(pollMs);
    pollMs = Math.min(2 * pollMs, POLL_MS_MAX);
  }
}

/** The service's limits where the maker has none of its own. */
export function orderBudgetOf(settings: Parts['settings'], limits: MakerLimits): Budget {
  return {
    ratePerSecond: limits.ordersPerSecond ?? settings.ORDER_BUDGET_PER_SECOND,
    burst: limits.ordersBurst ?? settings.ORDER_BUDGET_BURST,
  };
}

function describeBudget({ makers }: Asked, outcome: PlaceOutcome): ReplyHeaders {
  if (!('remaining' in outcome)) return {};
  return rateHeaders('orders', makers, outcome.remaining, 'retryAfterMs' in outcome ? outcome.retryAfterMs : undefined);
}

const validating = recordEnd({ status: 'VALIDATING' });

/** The records in the order of the request. They are hex and names: one byte per character. */
export function describeAccepted(proven: readonly ProvenOrder[]): Buffer {
  return Buffer.from(`[${proven.map((order) => recordStart(order) + validating).join(',')}]`, 'latin1');
}

function askFor(
  { settings, makers }: Parts,
  proven: readonly ProvenOrder[],
): Pick<PlaceRequest, 'makers' | 'orders' | 'rememberedMax'> {
  const addresses = [...new Set(proven.map(({ order }) => order.maker))].sort();
  return {
    makers: addresses.map((maker) => {
      // The service's limits where the maker has none of its own.
      const limits = makers.limitsOf(maker);
      return {
        maker,
        partition: partitionOf(maker, settings.PARTITIONS),
        budget: orderBudgetOf(settings, limits),
        openOrdersMax: limits.openOrdersMax ?? settings.MAX_OPEN_ORDERS_PER_MAKER,
      };
    }),
    orders: proven.map(({ order, orderHash }) => ({
      orderHash,
      makerIndex: addresses.indexOf(order.maker),
      salt: quantity(order.salt),
      nonce: order.nonce,
      expiresAtSeconds: boundedSeconds(order.expiresAt),
    })),
    rememberedMax: settings.REMEMBERED_HASHES_PER_MAKER_MAX,
  };
}
