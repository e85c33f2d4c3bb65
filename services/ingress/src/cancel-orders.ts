import { saltCancellationInput } from '@makerbook/contracts-http';
import { type Address, type Hex, unlessAway } from '@makerbook/contracts-primitives';
import type { Cancellation } from '@makerbook/domain';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply, readQuery, unavailable } from '@makerbook/http';
import { LogUnavailable } from '@makerbook/kafka';
import { orderBudgetOf } from '@makerbook/whitelist';
import { z } from 'zod';
import { acknowledge } from './acknowledge/acknowledge-facts.js';
import { appendDecided } from './append/append-facts.js';
import type { Decided } from './decide/decide-together.js';
import { findToCancel } from './decide/find-hashes.js';
import { settledMsOf } from './limits.js';
import { type AskedCancellations, parseCancellationBody } from './parse/parse-cancellations.js';
import { namesSalts } from './parse/read-salts.js';
import type { Parts } from './parts.js';
import { describeBudget, refuse } from './refuse-placements.js';
import { cancelledHashes, type Proven, proveCancellations } from './verify/prove-cancellations.js';
import { proveSalts } from './verify/prove-salts.js';

/** Reads what a request asks for, with `hashesMax` hashes at most. */
export type ParseCancellations = (
  request: ApiRequest,
  hashesMax: number,
  ofWallets: boolean,
) => AskedCancellations | Refusal;

/**
 * Answers DELETE /v0alpha/limit-orders and POST …/cancellations. Proves every signature before anything is appended:
 * one that is not the maker's cancels nothing. A hash that is unknown or gone is `NOT_FOUND` and does not fail the
 * rest. A repeated hash is cancelled once and answered twice. An order in flight is cancelled like any other, because
 * the log may hold its cancellation first. If Postgres cannot tell about a hash, signature and salt name the maker, and
 * the cancellation goes to the log all the same. Without the salt the answer is 503, and the other orders are
 * cancelled. With `Prefer: wait=N` the answer waits until the orders are out of the router's feed, or for that time.
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
  if (decided !== undefined && isRefusal(decided)) {
    const { index, ...refusal } = decided;
    const orderHash = index === undefined ? undefined : [...toCancel.keys()][index];
    return orderHash === undefined ? refusal : { ...refusal, index: orderHashes.indexOf(orderHash) };
  }
  const headers = describeBudget(decided?.left);
  const origin = { requestId: request.requestId, timeMs: parts.now(), decisions: decided?.decisions ?? [] };
  const appended = facts.length === 0 ? [] : await appendDecided(parts, facts, origin);
  if (appended instanceof LogUnavailable) {
    return unavailable('the log did not confirm the cancellations: send the same request again');
  }
  metrics.ordersCancelled(facts.length);
  if (unsure.length > 0) return refuseUnsure(unsure, facts.length);
  const isCancelled = (orderHash: Hex) => toCancel.has(orderHash) || unplaced.has(orderHash);
  const statuses = orderHashes.map((orderHash) => ({
    orderHash,
    status: isCancelled(orderHash) ? 'CANCELLED' : 'NOT_FOUND',
  }));
  const cancelled = orderHashes.filter(isCancelled);
  const acknowledged = appended.length === 0 ? {} : await acknowledge(parts, request, appended, { cancelled }, true);
  return okJson(JSON.stringify(statuses), { ...headers, ...acknowledged });
}

/**
 * Charges the budgets and marks the orders. While Postgres is down a maker can still cancel. Then this process alone
 * bounds the hashes that nobody has placed.
 */
async function decideCancels(
  parts: Pick<Parts, 'settings' | 'makers' | 'decide' | 'unplaced'>,
  { requestId, receivedAtMs }: ApiRequest,
  { toCancel, unplaced }: Proven,
): Promise<Decided | undefined | Refusal> {
  const { settings, makers } = parts;
  if (toCancel.size === 0 && unplaced.size === 0) return undefined;
  const budgetOf = (maker: Address) => orderBudgetOf(settings, makers.limitsOf(maker));
  const request: Cancellation = {
    kind: 'cancellation',
    lastsMs: settledMsOf(settings),
    hashes: cancelledHashes(parts, toCancel),
    unplaced: cancelledHashes(parts, unplaced).map((hash) => ({ ...hash, ordersBudget: budgetOf(hash.maker) })),
    rememberedMax: settings.REMEMBERED_HASHES_PER_MAKER_MAX,
  };
  const decided = await unlessAway(parts.decide({ requestId, receivedAtMs, request }));
  for (const [maker, own] of Map.groupBy(request.unplaced, (hash) => hash.maker)) {
    if (decided !== undefined) parts.unplaced.forget(maker);
    else {
      const budget = budgetOf(maker);
      const refusal = parts.unplaced.take(maker, own.length, budget, request.rememberedMax);
      const left = { of: 'orders', makers: [{ maker, budget }], remaining: [0] } as const;
      if (refusal !== undefined) return refuse(refusal, left);
    }
  }
  if (decided?.refusal === undefined) return decided;
  return refuse(decided.refusal, decided.left);
}

function refuseUnsure(unsure: readonly Hex[], cancelled: number): Refusal {
  const others = cancelled === 0 ? 'nothing was cancelled' : `the ${cancelled} other orders were cancelled`;
  const which = unsure.length === 1 ? unsure[0] : `${unsure.length} orders, the first ${unsure[0]}`;
  const remedy = "With the order's salt the maker's key cancels it at once; cancel keys and contracts use cancel-all";
  return unavailable(`it is not known now whether ${which} may still be placed; ${others}. ${remedy}`);
}
