import type { Address, Hex } from '@makerbook/contracts-primitives';
import { cancelOrder } from '@makerbook/domain';
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
import type { FoundOrder } from '@makerbook/postgres';
import { type Budget, chargeCancels, noteCancelled, type RedisConnection, RedisUnavailable } from '@makerbook/redis';
import type { Logger } from '@makerbook/telemetry';
import { type AppendParts, appendFacts, positionHeader } from './append-facts.js';
import type { Projection } from './await-projection.js';
import { type FairQueue, SIGNATURES_PER_SLICE } from './fair-queue.js';
import type { LookUp } from './look-up-orders.js';
import type { IngressMetrics } from './metrics.js';
import type { AskedCancellations } from './parse-cancellations.js';
import { parseWait } from './parse-wait.js';
import { unavailable } from './refusal.js';
import type { VerifyCancellation } from './verify-cancellations.js';

export interface CancelOrdersParts extends AppendParts {
  readonly lookUp: LookUp;
  readonly verify: VerifyCancellation;
  readonly fairQueue: FairQueue;
  readonly redis: RedisConnection;
  readonly logger: Logger;
  readonly metrics: IngressMetrics;
  readonly projection: Pick<Projection, 'hasPassed'>;
  readonly cancelsPerDeleteMax: number;
  readonly waitSecondsMax: number;
  readonly budget: Budget;
  readonly now: () => number;
}

/** Reads what a request asks for, at most so many hashes. */
export type ParseCancellations = (request: ApiRequest, hashesMax: number) => AskedCancellations | Refusal;

/**
 * DELETE /v0alpha/limit-orders, and POST …/cancellations (Interface 4.4, 5.2). Every signature is proved before anything is
 * appended; one that is not the maker's cancels nothing. A hash that is unknown or gone is `NOT_FOUND` and does not fail
 * the rest; a repeated hash is cancelled once and answered twice. An order that is still being placed is cancelled like
 * any other: the log may hold its cancellation before it. If it is not known whether the order of a hash may still be
 * placed, the other orders are cancelled and the answer is 503. Without Redis no budget is charged: a maker can always
 * cancel. With `Prefer: wait=N` the answer waits until the orders are out of the router's feed, or for that time.
 * @param parse the one thing in which the two requests differ
 */
export function createCancelOrders(
  parts: CancelOrdersParts,
  parse: ParseCancellations,
): (request: ApiRequest) => Promise<Reply> {
  return async (request) => {
    const asked = parse(request, parts.cancelsPerDeleteMax);
    const reply = isRefusal(asked) ? asked : await cancel(parts, request, asked);
    if ('code' in reply) parts.metrics.refused('cancel', reply.code);
    return reply;
  };
}

async function cancel(parts: CancelOrdersParts, request: ApiRequest, asked: AskedCancellations): Promise<Reply> {
  const { metrics } = parts;
  const orderHashes = asked.cancellations.map(({ orderHash }) => orderHash);
  const startedAt = performance.now();
  const { found, unsure } = await parts.lookUp([...new Set(orderHashes)]);
  const foundAt = performance.now();
  const [whose] = found.values();
  request.describe({ maker: whose?.maker, orders: orderHashes.length });
  metrics.took('look_up', foundAt - startedAt);
  const unproven = await refuseUnproven(parts, asked, found, request.client);
  metrics.took('verify', performance.now() - foundAt);
  if (unproven !== undefined) return unproven;

  let headers: ReplyHeaders | Refusal = {};
  let appended: readonly AppendedAt[] | Refusal = [];
  if (found.size > 0) {
    headers = await charge(parts, found, orderHashes);
    if (isRefusal(headers)) return headers;
    appended = await append(parts, request, found);
    if (isRefusal(appended)) return appended;
  }
  if (unsure !== undefined) {
    const others = found.size === 0 ? 'nothing was cancelled' : `the ${found.size} other orders were cancelled`;
    const [first] = unsure.orderHashes;
    const which = unsure.orderHashes.length === 1 ? first : `${unsure.orderHashes.length} orders, the first ${first}`;
    return unavailable(`it is not known now whether ${which} may still be placed (${unsure.reason}); ${others}`);
  }
  const statuses = orderHashes.map((orderHash) => ({
    orderHash,
    status: found.has(orderHash) ? 'CANCELLED' : 'NOT_FOUND',
  }));
  if (appended.length === 0) return okJson(JSON.stringify(statuses), headers);
  const applied = await awaitFeed(parts, request, appended);
  return okJson(JSON.stringify(statuses), { ...headers, ...positionHeader(appended), ...applied });
}

/** The rows are behind the feed, never ahead of it: where they have passed the cancellations, the tombstones are out. */
async function awaitFeed(
  { projection, waitSecondsMax }: CancelOrdersParts,
  request: ApiRequest,
  appended: readonly AppendedAt[],
): Promise<ReplyHeaders> {
  const seconds = parseWait(request.headers['prefer'], waitSecondsMax);
  if (seconds === 0 || !(await projection.hasPassed(appended, seconds * 1000))) return {};
  return { 'Preference-Applied': `wait=${seconds}` };
}

/** Refuses the first signature that is not the maker's, if any. */
async function refuseUnproven(
  { verify, fairQueue }: CancelOrdersParts,
  { cancellations, salt, signatureAt }: AskedCancellations,
  found: ReadonlyMap<Hex, FoundOrder>,
  client: string,
): Promise<Refusal | undefined> {
  for (const [index, cancellation] of cancellations.entries()) {
    if (cancellations.length > SIGNATURES_PER_SLICE && index % SIGNATURES_PER_SLICE === 0)
      await fairQueue.enter(client);
    const order = found.get(cancellation.orderHash);
    const fault = order && verify(cancellation, order.maker, salt ?? order.salt);
    if (fault === undefined) continue;
    const expected = salt === undefined ? "the order's own" : 'that of the query parameter `salt`';
    const detail = `the signature is not the maker's: ${fault}; the salt of the domain has to be ${expected}`;
    return { code: 'invalid_signature', detail, index, errors: [{ pointer: signatureAt(index), detail: fault }] };
  }
  return undefined;
}

/** @returns where the cancellations are; a refusal where the log has not confirmed them */
async function append(
  parts: CancelOrdersParts,
  { requestId }: ApiRequest,
  found: ReadonlyMap<Hex, FoundOrder>,
): Promise<readonly AppendedAt[] | Refusal> {
  const { metrics } = parts;
  const timeMs = parts.now();
  const facts = [...found].map(([orderHash, { maker, expiresAtSeconds }]) =>
    cancelOrder(maker, orderHash, expiresAtSeconds, { kind: 'request', requestId }),
  );
  const appendingAt = performance.now();
  let appended: readonly AppendedAt[];
  try {
    appended = await appendFacts(parts, facts, timeMs);
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    parts.logger.warn({ requestId, reason: error.message, orders: facts.length }, 'the log did not confirm');
    return unavailable('the log did not confirm the cancellations: send the same request again');
  }
  metrics.took('append', performance.now() - appendingAt);
  metrics.ordersCancelled(facts.length);
  await noteInRedis(parts, found);
  return appended;
}

async function charge(
  { redis, budget, now }: CancelOrdersParts,
  found: ReadonlyMap<Hex, FoundOrder>,
  orderHashes: readonly Hex[],
): Promise<ReplyHeaders | Refusal> {
  const counts = new Map<Address, number>();
  for (const { maker } of found.values()) counts.set(maker, (counts.get(maker) ?? 0) + 1);
  const makers = [...counts].map(([maker, count]) => ({ maker, count }));
  try {
    const outcome = await chargeCancels(redis, makers, budget, now());
    const owners = makers.map(({ maker }) => ({ maker, budget }));
    const retryAfterMs = outcome.kind === 'rate_limited' ? outcome.retryAfterMs : undefined;
    const headers = rateHeaders('cancels', owners, outcome.remaining, retryAfterMs);
    if (outcome.kind === 'charged') return headers;
    const maker = makers[outcome.makerIndex]?.maker;
    const index = orderHashes.findIndex((orderHash) => found.get(orderHash)?.maker === maker);
    const detail = `the maker's budget of ${budget.ratePerSecond} cancellations per second is spent`;
    return { code: 'rate_limited', detail, index, headers };
  } catch (error) {
    if (error instanceof RedisUnavailable) return {};
    throw error;
  }
}

/** Best effort: the projector writes the same to Redis a moment later. */
async function noteInRedis(
  { redis, partitions }: CancelOrdersParts,
  found: ReadonlyMap<Hex, FoundOrder>,
): Promise<void> {
  try {
    const orders = [...found].map(([orderHash, { maker }]) => ({
      orderHash,
      maker,
      partition: partitionOf(maker, partitions),
    }));
    await noteCancelled(redis, orders);
  } catch (error) {
    if (!(error instanceof RedisUnavailable)) throw error;
  }
}
