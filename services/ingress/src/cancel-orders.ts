import { saltCancellationInput } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply, readQuery, unavailable } from '@makerbook/http';
import { LogUnavailable } from '@makerbook/kafka';
import { z } from 'zod';
import { acknowledge } from './acknowledge/acknowledge-facts.js';
import { appendDecided } from './append/append-facts.js';
import { decideCancels } from './decide/decide-cancels.js';
import { findToCancel } from './decide/find-hashes.js';
import { type AskedCancellations, parseCancellationBody } from './parse/parse-cancellations.js';
import { namesSalts } from './parse/read-salts.js';
import type { Parts } from './parts.js';
import { describeBudget } from './refuse-placements.js';
import { type Proven, proveCancellations } from './verify/prove-cancellations.js';
import { proveSalts } from './verify/prove-salts.js';

/** Reads what a request asks for, at most so many hashes. */
export type ParseCancellations = (
  request: ApiRequest,
  hashesMax: number,
  ofWallets: boolean,
) => AskedCancellations | Refusal;

/**
 * DELETE /v0alpha/limit-orders, and POST …/cancellations. Every signature is proved before anything is appended; one
 * that is not the maker's cancels nothing. A hash that is unknown or gone is `NOT_FOUND` and does not fail the rest; a
 * repeated hash is cancelled once and answered twice. An order that is still being placed is cancelled like any other:
 * the log may hold its cancellation before it. Of a hash that Postgres cannot tell of, the signature and the salt name
 * the maker: its cancellation goes to the log all the same. Without its salt the answer is 503, and the other orders
 * are cancelled. With `Prefer: wait=N` the answer waits until the orders are out of the router's feed, or for that
 * time.
 * @param parse the one thing in which the two requests differ
 */
export function cancelBy(parse: ParseCancellations) {
  return async (parts: Parts, request: ApiRequest): Promise<Reply> => {
    const asked = parse(request, parts.settings.MAX_CANCELS_PER_DELETE, parts.askWallets !== undefined);
    return isRefusal(asked) ? asked : cancel(parts, request, asked);
  };
}

/** POST …/cancellations. A body that names salts cancels all orders of its maker that have them. */
export async function cancelByBody(parts: Parts, request: ApiRequest): Promise<Reply> {
  if (!namesSalts(request.body)) return cancelBy(parseCancellationBody)(parts, request);
  const query = readQuery(request.query, z.object({}));
  if (isRefusal(query)) return query;
  const { settings, readSalts } = parts;
  const asked = readSalts(request.body, saltCancellationInput, settings.MAX_CANCELS_PER_DELETE, parts.now());
  if (isRefusal(asked)) return asked;
  request.describe({ maker: asked.maker });
  const found = await proveSalts(parts, asked, request);
  if (isRefusal(found)) return found;
  const proven = { toCancel: found.toCancel, unplaced: new Map(), unsure: [] };
  const reply = await decideAndAnswer(parts, request, [...proven.toCancel.keys()], proven);
  if (!isRefusal(reply)) return reply;
  const { index: _, ...refusal } = reply;
  return refusal;
}

async function cancel(parts: Parts, request: ApiRequest, asked: AskedCancellations): Promise<Reply> {
  const { metrics } = parts;
  const orderHashes = asked.cancellations.map(({ orderHash }) => orderHash);
  const startedAt = performance.now();
  const known = await findToCancel(parts, request.client, [...new Set(orderHashes)]);
  const foundAt = metrics.took('look_up', startedAt);
  const proven = await proveCancellations(parts, asked, known, request, true);
  metrics.took('verify', foundAt);
  if (isRefusal(proven)) return proven;
  return decideAndAnswer(parts, request, orderHashes, proven);
}

async function decideAndAnswer(
  parts: Parts,
  request: ApiRequest,
  orderHashes: readonly Hex[],
  proven: Proven,
): Promise<Reply> {
  const { metrics } = parts;
  const { toCancel, unplaced, unsure } = proven;
  const facts = [...toCancel.values(), ...unplaced.values()];
  request.describe({ maker: facts[0]?.maker, orders: orderHashes.length });

  const decided = await decideCancels(parts, request, proven);
  if (decided !== undefined && isRefusal(decided)) return decided;
  const headers = describeBudget(decided?.left);
  const origin = { requestId: request.requestId, timeMs: parts.now(), decisions: decided?.decisions ?? [] };
  const appended = facts.length === 0 ? [] : await appendDecided(parts, facts, origin);
  if (appended instanceof LogUnavailable) {
    return unavailable('the log did not confirm the cancellations: send the same request again');
  }
  metrics.ordersCancelled(facts.length);
  if (unsure.length > 0) return refuseUnsure(unsure, facts.length, parts.askWallets !== undefined);
  const isCancelled = (orderHash: Hex) => toCancel.has(orderHash) || unplaced.has(orderHash);
  const statuses = orderHashes.map((orderHash) => ({
    orderHash,
    status: isCancelled(orderHash) ? 'CANCELLED' : 'NOT_FOUND',
  }));
  const cancelled = orderHashes.filter(isCancelled);
  const acknowledged = appended.length === 0 ? {} : await acknowledge(parts, request, appended, { cancelled }, true);
  return okJson(JSON.stringify(statuses), { ...headers, ...acknowledged });
}

function refuseUnsure(unsure: readonly Hex[], cancelled: number, hasWallets: boolean): Refusal {
  const others = cancelled === 0 ? 'nothing was cancelled' : `the ${cancelled} other orders were cancelled`;
  const which = unsure.length === 1 ? unsure[0] : `${unsure.length} orders, the first ${unsure[0]}`;
  const remedy = hasWallets
    ? 'a key with the salt, or a contract with cancel-all, cancels'
    : "With the order's salt it is cancelled";
  return unavailable(`it is not known now whether ${which} may still be placed; ${others}. ${remedy} at once`);
}
