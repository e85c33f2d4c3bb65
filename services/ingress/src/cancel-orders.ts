import type { Hex } from '@makerbook/contracts-events';
import { type Address, cancelOrder } from '@makerbook/domain';
import { type ApiRequest, okJson, type Refusal, type Reply, type ReplyHeaders } from '@makerbook/http';
import { LogUnavailable, partitionOf } from '@makerbook/kafka';
import { type Budget, chargeCancels, noteCancelled, type RedisConnection, RedisUnavailable } from '@makerbook/redis';
import { inSpan, type Logger } from '@makerbook/telemetry';
import { type AppendParts, appendFacts } from './append-facts.js';
import type { LookUp, Whose } from './look-up-orders.js';
import type { Measures } from './measure.js';
import { parseCancellations } from './parse-cancellations.js';
import { rateHeaders, retryAfter } from './rate-headers.js';
import { isRefusal, Unavailable, unavailable } from './refusal.js';
import type { VerifyCancellation } from './verify-cancellations.js';

export interface CancelOrdersParts extends AppendParts {
  readonly lookUp: LookUp;
  readonly verify: VerifyCancellation;
  readonly redis: RedisConnection;
  readonly logger: Logger;
  readonly measures: Measures;
  readonly cancelsPerDeleteMax: number;
  readonly budget: Budget;
  readonly now: () => number;
}

/**
 * DELETE /v0alpha/limit-orders (Interface 4.4, 5.2). Every signature is proved before anything is appended; one that is
 * not the maker's cancels nothing. A hash that is unknown or gone is `NOT_FOUND` and does not fail the rest; a hash that
 * stands twice is cancelled once and answered twice. Without Redis no budget is charged: a maker can always get out.
 */
export function createCancelOrders(parts: CancelOrdersParts): (request: ApiRequest) => Promise<Reply> {
  return async (request) => {
    const reply = await inSpan('cancel orders', { parent: request.traceparent }, (traceparent) =>
      cancel(parts, request, traceparent),
    );
    if ('code' in reply) parts.measures.refused('cancel', reply.code);
    return reply;
  };
}

async function cancel(parts: CancelOrdersParts, request: ApiRequest, traceparent: string): Promise<Reply> {
  const { measures, now } = parts;
  const asked = parseCancellations(request.query, parts.cancelsPerDeleteMax);
  if (isRefusal(asked)) return asked;
  const orderHashes = asked.cancellations.map(({ orderHash }) => orderHash);
  const startedAt = performance.now();
  let found: ReadonlyMap<Hex, Whose>;
  try {
    found = await parts.lookUp([...new Set(orderHashes)]);
  } catch (error) {
    if (error instanceof Unavailable) return unavailable(`nothing was cancelled: ${error.message}`);
    throw error;
  }
  const foundAt = performance.now();
  measures.took('look_up', foundAt - startedAt);
  for (const [index, cancellation] of asked.cancellations.entries()) {
    const whose = found.get(cancellation.orderHash);
    if (whose === undefined) continue;
    if (!parts.verify(cancellation, whose.maker, asked.salt ?? whose.salt)) return refuseSignature(index);
  }
  measures.took('verify', performance.now() - foundAt);

  const makerOf = new Map<Hex, Address>();
  for (const [orderHash, { maker }] of found) makerOf.set(orderHash, maker);
  const statuses = orderHashes.map((orderHash) => ({
    orderHash,
    status: makerOf.has(orderHash) ? 'CANCELLED' : 'NOT_FOUND',
  }));
  if (makerOf.size === 0) return okJson(JSON.stringify(statuses));
  const headers = await charge(parts, makerOf, orderHashes);
  if (isRefusal(headers)) return headers;
  const timeMs = now();
  const { requestId } = request;
  const facts = [...makerOf].map(([orderHash, maker]) => cancelOrder(maker, orderHash, { kind: 'request', requestId }));
  const appendingAt = performance.now();
  try {
    await appendFacts(parts, facts, { timeMs, traceparent });
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    parts.logger.warn({ requestId, reason: error.message, orders: facts.length }, 'the log did not confirm');
    return unavailable('the log did not confirm the cancellations: send the same request again');
  }
  measures.took('append', performance.now() - appendingAt);
  measures.ordersCancelled(facts.length);
  await note(parts, makerOf);
  return okJson(JSON.stringify(statuses), headers);
}

async function charge(
  { redis, budget, now }: CancelOrdersParts,
  makerOf: ReadonlyMap<Hex, Address>,
  orderHashes: readonly Hex[],
): Promise<ReplyHeaders | Refusal> {
  const counts = new Map<Address, number>();
  for (const maker of makerOf.values()) counts.set(maker, (counts.get(maker) ?? 0) + 1);
  const makers = [...counts].map(([maker, count]) => ({ maker, count }));
  try {
    const outcome = await chargeCancels(redis, makers, budget, now());
    const headers = rateHeaders(
      'cancels',
      budget,
      makers.map(({ maker }) => maker),
      outcome.remaining,
    );
    if (outcome.kind === 'charged') return headers;
    const maker = makers[outcome.makerIndex]?.maker;
    const index = orderHashes.findIndex((orderHash) => makerOf.get(orderHash) === maker);
    const detail = `the maker's budget of ${budget.ratePerSecond} cancellations per second is spent`;
    return { code: 'rate_limited', detail, index, headers: { ...headers, ...retryAfter(outcome.retryAfterMs) } };
  } catch (error) {
    if (error instanceof RedisUnavailable) return {};
    throw error;
  }
}

/** Best effort: the projector says the same to Redis a moment later. */
async function note({ redis, partitions }: CancelOrdersParts, makerOf: ReadonlyMap<Hex, Address>): Promise<void> {
  try {
    const orders = [...makerOf].map(([orderHash, maker]) => ({
      orderHash,
      maker,
      partition: partitionOf(maker, partitions),
    }));
    await noteCancelled(redis, orders);
  } catch (error) {
    if (!(error instanceof RedisUnavailable)) throw error;
  }
}

function refuseSignature(index: number): Refusal {
  const detail = `signature ${index} is not the maker's for this order; nothing was cancelled`;
  return { code: 'invalid_signature', detail, index, errors: [{ pointer: `/signatures/${index}`, detail }] };
}
