import { replacedInputs, replacementLists } from '@makerbook/contracts-http';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import type { ProvenOrder } from '@makerbook/domain';
import {
  type ApiRequest,
  isRefusal,
  okJson,
  parseAs,
  type Refusal,
  type Reply,
  refuseFields,
  unavailable,
} from '@makerbook/http';
import { type FoundHash, unlessAway } from '@makerbook/postgres';
import { acknowledge } from './acknowledge-facts.js';
import { IN_FLIGHT_RETRY_SECONDS, release } from './append-facts.js';
import { charge, lookUp, prove, type ToCancel } from './cancel-orders.js';
import { type AskedCancellations, parseCancellationBody } from './parse-cancellations.js';
import { type Placement, parsePlacements, parseValidUntil } from './parse-placements.js';
import type { Parts } from './parts.js';
import { describeAccepted, proveOrders, storeOrders } from './place-orders.js';
import { refuseAccepted } from './refuse-placements.js';

interface AskedReplacement {
  readonly cancel: AskedCancellations;
  readonly placements: readonly Placement[];
  readonly validUntilMs: number | undefined;
}

/**
 * POST …/replacements: cancels orders of one maker and places others, all or nothing. Everything is judged as in the two
 * requests that it stands for; besides, each order to be cancelled has to be open, and no other request may cancel it at the
 * moment: so an order is replaced once. The facts lie in one record batch, the cancellations first. The cancellations are
 * marked before Postgres decides about the orders, so the limit of open orders is judged by the result. An order of which another
 * amount is left than the request says is not replaced: the new one would add to what was filled.
 */
export async function replace(parts: Parts, request: ApiRequest): Promise<Reply> {
  const startedAt = performance.now();
  const asked = parseReplacement(parts, request);
  if (isRefusal(asked)) return asked;
  const { cancel, placements, validUntilMs } = asked;
  const orderHashes = cancel.cancellations.map(({ orderHash }) => orderHash);
  request.describe({ maker: placements[0]?.order.maker, orders: placements.length + orderHashes.length });
  const proven = await proveOrders(parts, request, placements, validUntilMs, startedAt);
  if (isRefusal(proven)) return inList('place', proven);
  const open = await proveOpen(parts, request, cancel, proven);
  if (isRefusal(open)) return open;
  const { toCancel } = open;
  const charged = await charge(parts, toCancel, orderHashes, true);
  if (isRefusal(charged)) return inList('cancel', charged);
  const changed = await refuseChanged(parts, cancel, open.inFlight);
  if (changed !== undefined) {
    await release(parts, charged.written);
    return changed;
  }
  const replaced = { facts: [...toCancel.values()], written: charged.written };
  const stored = await storeOrders(parts, request, proven, validUntilMs, replaced);
  if (isRefusal(stored)) return inList('place', stored);
  parts.metrics.ordersCancelled(toCancel.size);
  const cancelled = orderHashes.map((orderHash) => ({ orderHash, status: 'CANCELLED' }));
  const body = [`{"cancelled":${JSON.stringify(cancelled)},"placed":`, describeAccepted(proven), '}'];
  const acknowledged = { placed: proven.map(({ orderHash }) => orderHash), cancelled: orderHashes };
  const headers = await acknowledge(parts, request, stored.appended, acknowledged, true);
  return okJson(Buffer.concat(body.map((piece) => Buffer.from(piece))), { ...stored.headers, ...headers });
}

function parseReplacement({ settings, askWallets }: Parts, { body, headers }: ApiRequest): AskedReplacement | Refusal {
  const lists = parseAs(replacementLists, body);
  if (isRefusal(lists)) return lists;
  const query = new URLSearchParams();
  const { MAX_CANCELS_PER_DELETE: hashesMax } = settings;
  const cancel = parseCancellationBody(
    { body: lists.cancel, query },
    hashesMax,
    askWallets !== undefined,
    replacedInputs,
  );
  if (isRefusal(cancel)) return inList('cancel', cancel);
  const placements = parsePlacements(lists.place, settings.MAX_ORDERS_PER_POST);
  if (isRefusal(placements)) return inList('place', placements);
  const other = placements.findIndex(({ order }) => order.maker !== placements[0]?.order.maker);
  if (other >= 0) {
    const message = `must be that of the first order: ${placements[0]?.order.maker}`;
    return refuseFields([{ path: ['place', other, 'order', 'maker'], message }]);
  }
  const validUntilMs = parseValidUntil(headers);
  return typeof validUntilMs === 'object' ? validUntilMs : { cancel, placements, validUntilMs };
}

interface Open {
  readonly toCancel: ToCancel;
  /** Those that the fold has not seen, nor any fill of them. */
  readonly inFlight: ReadonlySet<Hex>;
}

/** The cancellations, if each order is open and of the maker. */
async function proveOpen(
  parts: Parts,
  request: ApiRequest,
  cancel: AskedCancellations,
  proven: readonly ProvenOrder[],
): Promise<Open | Refusal> {
  const hashes = [...new Set(cancel.cancellations.map(({ orderHash }) => orderHash))];
  const known = await lookUp(parts, request.client, hashes);
  if ([...known.values()].some(({ state }) => state === 'UNSURE')) {
    return unavailable('nothing was stored: it is not known now whether the orders to be cancelled are open');
  }
  const maker = proven[0]?.order.maker;
  const index = cancel.cancellations.findIndex(({ orderHash }) => {
    const found = known.get(orderHash);
    return found?.state !== 'FOUND' || found.maker !== maker;
  });
  if (index >= 0) return (await refuseRepeat(parts, proven)) ?? refuseGone(cancel, index);
  const cancellations = await prove(parts, cancel, known, request, false);
  if (isRefusal(cancellations)) return inList('cancel', cancellations);
  const inFlight = hashes.filter((hash) => isInFlight(known.get(hash)));
  return { toCancel: cancellations.toCancel, inFlight: new Set(inFlight) };
}

function isInFlight(found: FoundHash | undefined): boolean {
  return found?.state === 'FOUND' && found.isInFlight;
}

/** Compares what is left of each order with what the request expects. */
async function refuseChanged(
  { store }: Parts,
  cancel: AskedCancellations,
  inFlight: Open['inFlight'],
): Promise<Refusal | undefined> {
  const { cancellations } = cancel;
  const amounts = await unlessAway(store.readAmounts(cancellations.map(({ orderHash }) => orderHash)));
  if (amounts === undefined) return unavailable('nothing was stored: the store of orders does not answer');
  for (const [index, { orderHash, remaining: expected }] of cancellations.entries()) {
    const left = amounts[index];
    if (left === undefined && !inFlight.has(orderHash)) return refuseGone(cancel, index);
    if (left === undefined || left.remaining === (expected ?? left.making)) continue;
    const remainingMakingAmount = quantity(left.remaining);
    const named = expected === undefined ? 'the request does not name it' : `not ${quantity(expected)}`;
    const detail =
      `${remainingMakingAmount} is left of the making amount of ${orderHash}, and ${named}: ` +
      'nothing was cancelled or placed';
    const errors = [{ pointer: `/cancel/${index}/remainingMakingAmount`, detail }];
    return { code: 'remaining_changed', detail, index, remainingMakingAmount, errors };
  }
  return undefined;
}

function refuseGone({ cancellations }: AskedCancellations, index: number): Refusal {
  const detail = `${cancellations[index]?.orderHash} is no open order of the maker: nothing was cancelled or placed`;
  return { code: 'not_found', detail, index, errors: [{ pointer: `/cancel/${index}/orderHash`, detail }] };
}

/** A replacement that was stored is sent again: its new orders are known. */
async function refuseRepeat({ store, now }: Parts, proven: readonly ProvenOrder[]): Promise<Refusal | undefined> {
  const hashes = proven.map(({ orderHash }) => orderHash);
  const found = await unlessAway(store.findOrders(hashes, now(), false));
  if (found === undefined || found.some(isInFlight)) {
    return unavailable(
      'the outcome of an earlier request is not known yet: send this one again',
      IN_FLIGHT_RETRY_SECONDS,
    );
  }
  const refusal = refuseAccepted(found);
  return refusal && inList('place', refusal);
}

/** Points to the item in its list of the body. */
function inList(list: 'cancel' | 'place', refusal: Refusal): Refusal {
  const { errors, index, detail } = refusal;
  const places = errors ?? (index === undefined ? [] : [{ pointer: `/${index}`, detail }]);
  if (places.length === 0) return refusal;
  return { ...refusal, errors: places.map((place) => ({ ...place, pointer: `/${list}${place.pointer}` })) };
}
