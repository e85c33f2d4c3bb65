import type { OrderCancelled } from '@makerbook/contracts-events';
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
  unavailable,
} from '@makerbook/http';
import { LogUnavailable, partitionOf } from '@makerbook/kafka';
import { type FoundHash, unlessAway } from '@makerbook/postgres';
import type { Makers } from '@makerbook/whitelist';
import { acknowledge } from './acknowledge-facts.js';
import { appendDecided, IN_FLIGHT_RETRY_SECONDS, release, type Written } from './append-facts.js';
import { askAbout, type Doubt } from './ask-about.js';
import { chargeUnplaced } from './charge-unplaced.js';
import type { AskedCancellations } from './parse-cancellations.js';
import { type Parts, settledMsOf } from './parts.js';
import { SIGNATURES_PER_SLICE } from './yield-slices.js';

/** Reads what a request asks for, at most so many hashes. */
export type ParseCancellations = (
  request: ApiRequest,
  hashesMax: number,
  ofWallets: boolean,
) => AskedCancellations | Refusal;

/** The facts to append, by their orders. */
export type ToCancel = ReadonlyMap<Hex, OrderCancelled>;

/** The latest expiry that there is: of an order that nobody knows. */
const UNKNOWN_EXPIRY_SECONDS = Number.MAX_SAFE_INTEGER;

/**
 * DELETE /v0alpha/limit-orders, and POST …/cancellations. Every signature is proved before anything is appended; one that
 * is not the maker's cancels nothing. A hash that is unknown or gone is `NOT_FOUND` and does not fail the rest; a repeated
 * hash is cancelled once and answered twice. An order that is still being placed is cancelled like any other: the log may
 * hold its cancellation before it. Of a hash that Postgres cannot tell of, the signature and the salt name the maker: its
 * cancellation goes to the log all the same. Without its salt the answer is 503, and the other orders are cancelled.
 * With `Prefer: wait=N` the answer waits until the orders are out of the router's feed, or for that time.
 * @param parse the one thing in which the two requests differ
 */
export function cancelBy(parse: ParseCancellations) {
  return async (parts: Parts, request: ApiRequest): Promise<Reply> => {
    const asked = parse(request, parts.settings.MAX_CANCELS_PER_DELETE, parts.askWallets !== undefined);
    return isRefusal(asked) ? asked : cancel(parts, request, asked);
  };
}

async function cancel(parts: Parts, request: ApiRequest, asked: AskedCancellations): Promise<Reply> {
  const { metrics } = parts;
  const orderHashes = asked.cancellations.map(({ orderHash }) => orderHash);
  const startedAt = performance.now();
  const known = await lookUp(parts, request.client, [...new Set(orderHashes)]);
  const foundAt = metrics.took('look_up', startedAt);
  const proven = await prove(parts, asked, known, request, true);
  metrics.took('verify', foundAt);
  if (isRefusal(proven)) return proven;
  const { toCancel, unplaced, unsure } = proven;
  const facts = [...toCancel.values(), ...unplaced.values()];
  request.describe({ maker: facts[0]?.maker, orders: orderHashes.length });

  const marked = await chargeUnplaced(parts, unplaced);
  if (isRefusal(marked)) return marked;
  const charged = await charge(parts, toCancel, orderHashes);
  if (isRefusal(charged)) {
    await release(parts, marked);
    return charged;
  }
  const { headers } = charged;
  const written = [...charged.written, ...marked];
  const origin = { requestId: request.requestId, timeMs: parts.now(), written };
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
  const stored = appended.length === 0 ? {} : await acknowledge(parts, request, appended, { cancelled }, true);
  return okJson(JSON.stringify(statuses), { ...headers, ...stored });
}

/** Looks the hashes up; all of them are UNSURE while Postgres does not answer. */
export async function lookUp(
  { store, trust, notes, now }: Parts,
  client: string,
  orderHashes: readonly Hex[],
): Promise<ReadonlyMap<Hex, FoundHash>> {
  const mayNote = notes.mayNote(client, orderHashes.length);
  const found = (await unlessAway(store.findOrders(orderHashes, now(), mayNote))) ?? [];
  notes.note(client, found.filter(({ state }) => state === 'UNKNOWN').length);
  if (mayNote && found.some(({ state }) => state === 'UNSURE')) trust.noteLoss();
  return new Map(orderHashes.map((orderHash, index) => [orderHash, found[index] ?? { state: 'UNSURE' }]));
}

interface Proven {
  /** Of orders that are known. */
  readonly toCancel: ToCancel;
  /** Of hashes that nobody has placed, as far as is known. */
  readonly unplaced: ToCancel;
  /** Hashes of which nothing is known, and that cannot be cancelled without their salt, or by a contract. */
  readonly unsure: readonly Hex[];
}

/** Refuses the first signature that is not the maker's, if any. @param isExit nothing is placed in their stead */
export async function prove(
  { proveCancellation, askWallets, nextSlice, makers }: Parts,
  { cancellations, signatureAt }: AskedCancellations,
  known: ReadonlyMap<Hex, FoundHash>,
  request: ApiRequest,
  isExit: boolean,
): Promise<Proven | Refusal> {
  const { requestId } = request;
  const toCancel = new Map<Hex, OrderCancelled>();
  const unplaced = new Map<Hex, OrderCancelled>();
  const unsure = new Set<Hex>();
  const doubts: Doubt[] = [];
  for (const [index, cancellation] of cancellations.entries()) {
    if (cancellations.length > SIGNATURES_PER_SLICE && index % SIGNATURES_PER_SLICE === 0) await nextSlice();
    const { orderHash } = cancellation;
    const order = known.get(orderHash);
    if (order?.state !== 'FOUND' && order?.state !== 'UNSURE') continue;
    const found = order.state === 'FOUND' ? order : undefined;
    const salt = cancellation.salt ?? found?.salt;
    if (salt === undefined || (found === undefined && !makers.isCaughtUp())) {
      unsure.add(orderHash);
      continue;
    }
    const proof = proveCancellation(cancellation, salt, (signer) => makerFor(makers, signer, found?.maker));
    const maker = 'maker' in proof ? proof.maker : found?.maker;
    if ('fault' in proof) {
      if (askWallets === undefined) return refuseSignature(cancellation.salt, proof.fault, index, signatureAt);
      if (maker !== undefined) doubts.push({ ...proof, index, wallet: maker, signature: cancellation.text });
    }
    if (maker === undefined) {
      unsure.add(orderHash);
      continue;
    }
    const expiresAtSeconds = found?.expiresAtSeconds ?? cancellation.expiresAtSeconds ?? UNKNOWN_EXPIRY_SECONDS;
    const asked = found === undefined ? unplaced : toCancel;
    asked.set(orderHash, cancelOrder(maker, orderHash, expiresAtSeconds, { kind: 'request', requestId }));
  }
  const doubt = askWallets && (await askAbout(askWallets, doubts, request, isExit));
  if (doubt !== undefined) {
    return isRefusal(doubt)
      ? doubt
      : refuseSignature(cancellations[doubt.index]?.salt, doubt.fault, doubt.index, signatureAt);
  }
  return { toCancel, unplaced, unsure: [...unsure].filter((orderHash) => !unplaced.has(orderHash)) };
}

/**
 * The maker for whom the signer cancels: itself, or one whose key it is. Of an unsure hash no maker is known: a key cannot cancel
 * it, and whatever it is, only its own maker's cancellation counts.
 */
function makerFor(makers: Makers, signer: Address, maker: Address | undefined): Address | undefined {
  if (maker !== undefined) return signer === maker || makers.cancelKeysOf(maker).includes(signer) ? maker : undefined;
  return makers.admissionOf(signer) === 'UNKNOWN' ? undefined : signer;
}

function refuseSignature(
  salt: Hex | undefined,
  fault: string,
  index: number,
  signatureAt: AskedCancellations['signatureAt'],
): Refusal {
  const expected = salt === undefined ? "the order's own" : 'the one that the request names';
  const detail = `the signature is not the maker's: ${fault}; the salt of the domain has to be ${expected}`;
  return { code: 'invalid_signature', detail, index, errors: [{ pointer: signatureAt(index), detail: fault }] };
}

function refuseUnsure(unsure: readonly Hex[], cancelled: number, hasWallets: boolean): Refusal {
  const others = cancelled === 0 ? 'nothing was cancelled' : `the ${cancelled} other orders were cancelled`;
  const which = unsure.length === 1 ? unsure[0] : `${unsure.length} orders, the first ${unsure[0]}`;
  const remedy = hasWallets
    ? 'a key with the salt, or a contract with cancel-all, cancels'
    : "With the order's salt it is cancelled";
  return unavailable(`it is not known now whether ${which} may still be placed; ${others}. ${remedy} at once`);
}

interface Charged {
  readonly headers: ReplyHeaders;
  /** The marks, if there are any. */
  readonly written: readonly Written[];
}

/**
 * Charges the budgets and marks the orders. Does neither while Postgres is away: a maker can always cancel.
 * @param isFirst refuses where another request cancels one of the orders at the moment, and where that is not known
 */
export async function charge(
  { settings, store, now }: Parts,
  toCancel: ToCancel,
  orderHashes: readonly Hex[],
  isFirst = false,
): Promise<Charged | Refusal> {
  const nothing = { headers: {}, written: [] };
  if (toCancel.size === 0) return nothing;
  const budget = { ratePerSecond: settings.CANCEL_BUDGET_PER_SECOND, burst: settings.CANCEL_BUDGET_BURST };
  const makers = [...new Set([...toCancel.values()].map(({ maker }) => maker))].sort();
  const marking = store.markCancelling({
    nowMs: now(),
    lastsMs: settledMsOf(settings),
    budget,
    makers: makers.map((maker) => ({ maker, partition: partitionOf(maker, settings.PARTITIONS) })),
    hashes: [...toCancel].map(([orderHash, { maker }]) => ({ orderHash, makerIndex: makers.indexOf(maker) })),
    isFirst,
  });
  const outcome = await unlessAway(marking);
  if (outcome === undefined && isFirst) return unavailable('nothing was stored: the store of orders does not answer');
  if (outcome === undefined) return nothing;
  const owners = makers.map((maker) => ({ maker, budget }));
  const retryAfterMs = outcome.kind === 'rate_limited' ? outcome.retryAfterMs : undefined;
  const headers = rateHeaders('cancels', owners, outcome.remaining, retryAfterMs);
  if (outcome.kind === 'marked') {
    return { headers, written: [{ orderHashes: [...toCancel.keys()], untilMs: outcome.untilMs }] };
  }
  if (outcome.kind === 'marked_already') {
    const detail = 'nothing was stored: another request cancels one of the orders; send this one again';
    return unavailable(detail, IN_FLIGHT_RETRY_SECONDS);
  }
  const index = orderHashes.findIndex((orderHash) => toCancel.get(orderHash)?.maker === makers[outcome.makerIndex]);
  const detail = `the maker's budget of ${budget.ratePerSecond} cancellations per second is spent`;
  return { code: 'rate_limited', detail, index, headers };
}
