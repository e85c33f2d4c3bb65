import { type Address, quantity } from '@makerbook/contracts-primitives';
import {
  boundedSeconds,
  checkAdmission,
  checkRepeats,
  checkTerms,
  checkTimeliness,
  type PlacementRefusal,
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
} from '@makerbook/http';
import { type AppendedAt, LogUnavailable, partitionOf } from '@makerbook/kafka';
import {
  type Budget,
  type RedisConnection,
  type ReserveOrders,
  type ReservingMaker,
  type Settlement,
  settleReservation,
} from '@makerbook/redis';
import type { Logger } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import { type AppendParts, appendFacts, positionHeader } from './append-facts.js';
import type { FairQueue } from './fair-queue.js';
import type { IngressMetrics } from './metrics.js';
import { parsePlacements } from './parse-placements.js';
import { parseValidUntil } from './parse-valid-until.js';
import { Unavailable, unavailable } from './refusal.js';
import type { FinalOutcome, Reserver } from './reserve.js';
import type { VerifyOrders } from './verify-orders.js';
import type { ProjectionLag } from './watch-projection-lag.js';

export interface PlaceOrdersParts extends AppendParts {
  readonly makers: Makers;
  readonly lag: Pick<ProjectionLag, 'seconds'>;
  /** Nothing is placed while the read model is behind for longer. */
  readonly lagSecondsMax: number;
  readonly verify: VerifyOrders;
  readonly fairQueue: FairQueue;
  readonly reserver: Reserver;
  readonly redis: RedisConnection;
  readonly logger: Logger;
  readonly metrics: IngressMetrics;
  readonly ordersPerPostMax: number;
  /** Of a maker who has none of its own. */
  readonly openOrdersPerMakerMax: number;
  readonly budget: Budget;
  readonly now: () => number;
  /** Names a reservation; never used twice. */
  readonly nextId: () => string;
}

/** An operator decides when orders are taken again: minutes, and not a second. */
const CANCEL_ONLY_RETRY_SECONDS = 30;

/**
 * POST /v0alpha/limit-orders (Interface 4.3): all orders of the request are stored, or none. Phase by phase over the
 * whole request, and inside a phase the lowest index first: shape, terms, `Valid-Until`, signature, whitelist, rate, timeliness,
 * duplicates, open orders. 200 means that the log has acknowledged every order.
 */
export function createPlaceOrders(parts: PlaceOrdersParts): (request: ApiRequest) => Promise<Reply> {
  return async (request) => {
    const reply = await place(parts, request);
    if ('code' in reply) parts.metrics.refused('place', reply.measuredAs ?? reply.code);
    return reply;
  };
}

async function place(parts: PlaceOrdersParts, request: ApiRequest): Promise<Reply> {
  const { makers, metrics, now } = parts;
  const startedAt = performance.now();
  const placements = parsePlacements(request.body, parts.ordersPerPostMax);
  if (isRefusal(placements)) return placements;
  const orders = placements.map(({ order }) => order);
  request.describe({ maker: orders[0]?.maker, orders: orders.length });
  const validUntilMs = parseValidUntil(request.headers['valid-until']);
  if (typeof validUntilMs === 'object') return validUntilMs;
  const badTerms = checkTerms(orders);
  if (badTerms !== undefined) return refuse(badTerms);

  // Also here, where nothing has been spent on the request yet; the reservation decides.
  if (validUntilMs !== undefined && now() > validUntilMs) return validUntilPassed;
  const parsedAt = performance.now();
  metrics.took('parse', parsedAt - startedAt);
  const proven = await parts.verify(placements, () => parts.fairQueue.enter(request.client));
  metrics.took('verify', performance.now() - parsedAt);
  if (isRefusal(proven)) return proven;

  if (!makers.isCaughtUp()) return unavailable('the whitelist is still being read');
  if (makers.isCancelOnly())
    return {
      ...unavailable(
        'the service takes no new orders for now; cancelling and listing go on',
        CANCEL_ONLY_RETRY_SECONDS,
      ),
      measuredAs: 'cancel_only',
    };
  if (parts.lag.seconds() > parts.lagSecondsMax)
    return unavailable('nothing was stored: the read model is behind the log');
  const notAdmitted = checkAdmission(orders, makers.admissionOf);
  if (notAdmitted !== undefined) return refuse(notAdmitted);

  const acceptedAtMs = now();
  // Judged after the rate limit: an untimely request is charged to the budget, and reserves nothing.
  const untimely = checkTimeliness(orders, Math.floor(acceptedAtMs / 1000), makers.nonceOf);
  const repeat = checkRepeats(proven.map(({ orderHash }) => orderHash));
  const asked = {
    ...askFor(parts, proven, untimely !== undefined, repeat?.index),
    receivedAtMs: request.receivedAtMs,
    validUntilMs,
  };
  const reservationId = parts.nextId();
  const reservingAt = performance.now();
  let outcome: FinalOutcome;
  try {
    outcome = await parts.reserver.reserve(reservationId, asked);
  } catch (error) {
    if (error instanceof Unavailable) return unavailable(`nothing was stored: ${error.message}`);
    throw error;
  }
  metrics.took('reserve', performance.now() - reservingAt);
  if (outcome.kind === 'valid_until_passed') return validUntilPassed;
  const retryAfterMs = outcome.kind === 'rate_limited' ? outcome.retryAfterMs : undefined;
  const headers = rateHeaders('orders', asked.makers, outcome.remaining, retryAfterMs);
  if (outcome.kind === 'charged') {
    if (untimely === undefined) throw new Error('orders were charged and not reserved');
    return refuse(untimely, headers);
  }
  if (outcome.kind !== 'reserved') {
    const maker = asked.makers[asked.orders[outcome.index]?.makerIndex ?? 0];
    if (maker === undefined) throw new Error(`no maker has asked for order ${outcome.index}`);
    return refuseOutcome(maker, outcome, repeat, headers);
  }
  const reserved = asked.makers.map(({ maker }) => maker);
  return append(parts, request, { acceptedAtMs, reservationId, proven, makers: reserved, headers });
}

const validUntilPassed: Refusal = {
  code: 'valid_until_passed',
  detail: 'nothing was stored: by the clock of the service the time that Valid-Until names has passed',
};

interface Reserved {
  readonly acceptedAtMs: number;
  readonly reservationId: string;
  readonly proven: readonly ProvenOrder[];
  readonly makers: readonly Address[];
  readonly headers: ReplyHeaders;
}

async function append(
  parts: PlaceOrdersParts,
  { requestId }: ApiRequest,
  { acceptedAtMs, reservationId, proven, makers, headers }: Reserved,
): Promise<Reply> {
  const { metrics, logger } = parts;
  const facts = placeOrders(proven, acceptedAtMs, { kind: 'request', requestId });
  const startedAt = performance.now();
  let appended: readonly AppendedAt[];
  try {
    appended = await appendFacts(parts, facts, acceptedAtMs);
  } catch (error) {
    const isUnknown = !(error instanceof LogUnavailable) || error.mayHaveBeenAppended;
    await settle(parts, reservationId, makers, isUnknown ? 'unknown' : 'not_appended');
    if (!(error instanceof LogUnavailable)) throw error;
    logger.warn({ requestId, reason: error.message, orders: proven.length }, 'the log did not confirm');
    return unavailable(
      'the log did not confirm the orders: send the same request again; `duplicate` then says that they were stored',
    );
  }
  metrics.took('append', performance.now() - startedAt);
  metrics.ordersAccepted(proven.length);
  void settle(parts, reservationId, makers, 'appended');
  return okJson(describeAccepted(proven), { ...headers, ...positionHeader(appended) });
}

/** Best effort: a reservation that is not settled is resolved after its lease. */
async function settle(
  { redis, logger }: PlaceOrdersParts,
  reservationId: string,
  makers: readonly Address[],
  settlement: Settlement,
): Promise<void> {
  try {
    await settleReservation(redis, reservationId, makers, settlement);
  } catch (error) {
    logger.warn({ reason: String(error), settlement }, 'a reservation is left to its lease');
  }
}

const validating = recordEnd({ status: 'VALIDATING' });

/** The records in the order of the request. They are hex and names: one byte per character. */
function describeAccepted(proven: readonly ProvenOrder[]): Buffer {
  return Buffer.from(`[${proven.map((order) => recordStart(order) + validating).join(',')}]`, 'latin1');
}

function askFor(
  parts: PlaceOrdersParts,
  proven: readonly ProvenOrder[],
  chargeOnly: boolean,
  firstRepeatAt: number | undefined,
): Omit<ReserveOrders, 'reservationId' | 'receivedAtMs' | 'nowMs' | 'leaseMs'> {
  const indexOfMaker = new Map<string, number>();
  const makers: ReservingMaker[] = [];
  const orders = proven.map(({ order, orderHash }) => {
    let makerIndex = indexOfMaker.get(order.maker);
    if (makerIndex === undefined) {
      makerIndex = makers.length;
      indexOfMaker.set(order.maker, makerIndex);
      makers.push(reservingMaker(order.maker, parts));
    }
    const expiresAtSeconds = boundedSeconds(order.expiresAt);
    return { makerIndex, orderHash, salt: quantity(order.salt), expiresAtSeconds };
  });
  return { makers, orders, chargeOnly, firstRepeatAt };
}

/** The maker with its own limits, and the service's where it has none. */
function reservingMaker(maker: Address, parts: PlaceOrdersParts): ReservingMaker {
  const { ratePerSecond, burst } = parts.budget;
  const limits = parts.makers.limitsOf(maker);
  return {
    maker,
    partition: partitionOf(maker, parts.partitions),
    budget: { ratePerSecond: limits.ordersPerSecond ?? ratePerSecond, burst: limits.ordersBurst ?? burst },
    openOrdersMax: limits.openOrdersMax ?? parts.openOrdersPerMakerMax,
  };
}

function refuse({ code, index, pointer, detail }: PlacementRefusal, headers?: ReplyHeaders): Refusal {
  return {
    code,
    detail,
    ...(pointer === undefined ? {} : { errors: [{ pointer: `/${index}${pointer}`, detail }] }),
    index,
    ...(headers === undefined ? {} : { headers }),
  };
}

function refuseOutcome(
  { budget, openOrdersMax }: ReservingMaker,
  outcome: Exclude<FinalOutcome, { kind: 'reserved' | 'charged' | 'valid_until_passed' }>,
  repeat: PlacementRefusal | undefined,
  headers: ReplyHeaders,
): Refusal {
  const { index } = outcome;
  switch (outcome.kind) {
    case 'over_budget': {
      const detail = `the maker's budget holds ${budget.burst} orders when full: place fewer at once`;
      return { code: 'too_many_orders', detail, index, headers };
    }
    case 'rate_limited': {
      const detail = `the maker's budget of ${budget.ratePerSecond} orders per second is spent; Retry-After says when all of the request fits`;
      return { code: 'rate_limited', detail, index, headers };
    }
    case 'duplicate': {
      if (repeat?.index === index) return refuse(repeat, headers);
      return { code: 'duplicate', detail: 'the order was accepted before: a hash is accepted once', index, headers };
    }
    case 'cancelled': {
      const detail = 'the order was cancelled while this request was on its way: post it again if it is to be placed';
      return { code: 'order_cancelled', detail, index, headers };
    }
    case 'too_many_open': {
      const { openOrders } = outcome;
      const detail = `the maker may have ${openOrdersMax} open orders, and has ${openOrders}: cancel some first`;
      return { code: 'too_many_orders', detail, index, headers };
    }
  }
}
