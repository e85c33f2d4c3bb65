import type { OrderCancelled } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Cancellation, type CancelledHash, cancelOrder, type FoundHash } from '@makerbook/domain';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply, unavailable } from '@makerbook/http';
import { LogUnavailable, partitionOf } from '@makerbook/kafka';
import { unlessAway } from '@makerbook/postgres';
import type { Makers } from '@makerbook/whitelist';
import { acknowledge } from './acknowledge/acknowledge-facts.js';
import { appendDecided } from './append/append-facts.js';
import type { Decided } from './decide/decide-together.js';
import type { ReadBefore } from './decide/find-hashes.js';
import type { AskedCancellations } from './parse/parse-cancellations.js';
import { cancelBudgetOf, type Parts, settledMsOf } from './parts.js';
import { orderBudgetOf } from './place-orders.js';
import { describeBudget, refuse } from './refuse-placements.js';
import { askAbout, type Doubt } from './verify/ask-about.js';
import { SIGNATURES_PER_SLICE } from './verify/yield-slices.js';

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
  const { known, readBefore } = await lookUp(parts, request.client, [...new Set(orderHashes)]);
  const foundAt = metrics.took('look_up', startedAt);
  const proven = await prove(parts, asked, known, request, true);
  metrics.took('verify', foundAt);
  if (isRefusal(proven)) return proven;
  const { toCancel, unplaced, unsure } = proven;
  const facts = [...toCancel.values(), ...unplaced.values()];
  request.describe({ maker: facts[0]?.maker, orders: orderHashes.length });

  const decided = await decideCancels(parts, request, proven, readBefore);
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
  const stored = appended.length === 0 ? {} : await acknowledge(parts, request, appended, { cancelled }, true);
  return okJson(JSON.stringify(statuses), { ...headers, ...stored });
}

/** Looks the hashes up; all of them are UNSURE while Postgres does not answer. */
export async function lookUp(
  { find, trust, notes }: Parts,
  client: string,
  orderHashes: readonly Hex[],
): Promise<LookedUp> {
  const mayNote = notes.mayNote(client, orderHashes.length);
  const readBefore = await unlessAway(find(orderHashes, mayNote));
  const found = readBefore?.hashes ?? [];
  notes.note(client, found.filter(({ state }) => state === 'UNKNOWN').length);
  if (mayNote && found.some(({ state }) => state === 'UNSURE')) trust.noteLoss();
  const known = new Map(
    orderHashes.map((orderHash, index) => [orderHash, found[index] ?? { state: 'UNSURE' as const }]),
  );
  return { known, readBefore };
}

interface LookedUp {
  readonly known: ReadonlyMap<Hex, FoundHash>;
  readonly readBefore: ReadBefore | undefined;
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

/**
 * Charges the budgets and marks the orders. While Postgres is away a maker can always cancel; this process alone bounds how many
 * hashes that nobody has placed.
 */
async function decideCancels(
  parts: Parts,
  { requestId, receivedAtMs }: ApiRequest,
  { toCancel, unplaced }: Proven,
  readBefore: ReadBefore | undefined,
): Promise<Decided | undefined | Refusal> {
  const { settings, makers } = parts;
  if (toCancel.size === 0 && unplaced.size === 0) return undefined;
  const budgetOf = (maker: Address) => orderBudgetOf(settings, makers.limitsOf(maker));
  const request: Cancellation = {
    kind: 'cancellation',
    lastsMs: settledMsOf(settings),
    budget: cancelBudgetOf(settings),
    hashes: cancelledHashes(parts, toCancel),
    unplaced: cancelledHashes(parts, unplaced).map((hash) => ({ ...hash, ordersBudget: budgetOf(hash.maker) })),
    rememberedMax: settings.REMEMBERED_HASHES_PER_MAKER_MAX,
  };
  const decided = await unlessAway(parts.decide({ requestId, receivedAtMs, request, readBefore }));
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

export function cancelledHashes({ settings }: Pick<Parts, 'settings'>, toCancel: ToCancel): CancelledHash[] {
  return [...toCancel].map(([orderHash, { maker }]) => {
    return { orderHash, maker, partition: partitionOf(maker, settings.PARTITIONS) };
  });
}
