import { replacedInputs, replacedSaltsInput, replacementLists } from '@makerbook/contracts-http';
import { unlessAway } from '@makerbook/contracts-primitives';
import { IN_FLIGHT_RETRY_MS, type ProvenOrder, type Replacement, refuseAccepted, wasAccepted } from '@makerbook/domain';
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
import { acknowledge } from './acknowledge/acknowledge-facts.js';
import { placementOf } from './decide/decide-in-time.js';
import { type FindingParts, findToCancel } from './decide/find-hashes.js';
import { type AskedCancellations, parseCancellationBody } from './parse/parse-cancellations.js';
import { type PostedOrder, parsePlacements, parseValidUntil } from './parse/parse-placements.js';
import { type AskedSalts, namesSalts } from './parse/read-salts.js';
import type { Parts } from './parts.js';
import { decideAndAppend, describeAccepted } from './place-orders.js';
import { inList, refuse } from './refuse-placements.js';
import { cancelledHashes, type ProvingParts, proveCancellations, type ToCancel } from './verify/prove-cancellations.js';
import { proveOrders } from './verify/prove-orders.js';
import { proveSalts } from './verify/prove-salts.js';

interface AskedReplacement {
  readonly cancel: AskedCancellations | AskedSalts;
  readonly placements: readonly PostedOrder[];
  readonly validUntilMs: number | undefined;
}

/**
 * Answers POST …/replacements: cancels orders of one maker and places others, all or nothing. Judges everything as in
 * the two separate requests. Besides, each order to cancel has to be open, and no other request may be cancelling it,
 * so an order is replaced once. The facts are in one record batch, the cancellations first. The limit of open orders is
 * judged by the result. If another amount is left of an order than the request says, the order is not replaced: the new
 * one would add to what was filled. Salts stand for all orders of the maker that have them.
 */
export async function replace(parts: Parts, request: ApiRequest): Promise<Reply> {
  const startedAt = performance.now();
  const asked = parseReplacement(parts, request);
  if (isRefusal(asked)) return asked;
  const { cancel, placements, validUntilMs } = asked;
  const count = placements.length + ('salts' in cancel ? cancel.salts : cancel.cancellations).length;
  request.describe({ maker: placements[0]?.order.maker, orders: count });
  const proven = await proveOrders(parts, request, placements, validUntilMs, startedAt);
  if (isRefusal(proven)) return inList('place', proven);
  const bySalt = 'salts' in cancel;
  const open = await (bySalt ? proveSalted(parts, request, cancel, proven) : proveOpen(parts, request, cancel, proven));
  if (isRefusal(open)) return open;
  const orderHashes = bySalt ? [...open.keys()] : cancel.cancellations.map(({ orderHash }) => orderHash);
  const replacement: Replacement = {
    kind: 'replacement',
    placement: placementOf(parts, proven, validUntilMs),
    cancels: cancelledHashes(parts, open),
    expected: bySalt ? { ofAll: cancel.remaining } : cancel.cancellations,
  };
  const accepted = await decideAndAppend(parts, request, replacement, proven, [...open.values()]);
  if (isRefusal(accepted)) return accepted;
  parts.metrics.ordersCancelled(open.size);
  const cancelled = orderHashes.map((orderHash) => ({ orderHash, status: 'CANCELLED' }));
  const body = [`{"cancelled":${JSON.stringify(cancelled)},"placed":`, describeAccepted(proven), '}'];
  const acknowledged = { placed: proven.map(({ orderHash }) => orderHash), cancelled: orderHashes };
  const headers = await acknowledge(parts, request, accepted.appended, acknowledged, true);
  return okJson(Buffer.concat(body.map((piece) => Buffer.from(piece))), { ...accepted.headers, ...headers });
}

function parseReplacement(
  parts: Pick<Parts, 'settings' | 'askWallets' | 'readSalts' | 'now'>,
  { body, headers }: ApiRequest,
): AskedReplacement | Refusal {
  const lists = parseAs(replacementLists, body);
  if (isRefusal(lists)) return lists;
  const cancel = parseCancel(parts, lists.cancel);
  if (isRefusal(cancel)) return inList('cancel', cancel);
  const placements = parsePlacements(lists.place, parts.settings.MAX_ORDERS_PER_POST);
  if (isRefusal(placements)) return inList('place', placements);
  const maker = placements[0]?.order.maker;
  const message = `must be that of the first order: ${maker}`;
  const other = placements.findIndex(({ order }) => order.maker !== maker);
  if (other >= 0) return refuseFields([{ path: ['place', other, 'order', 'maker'], message }]);
  if ('salts' in cancel && cancel.maker !== maker) return refuseFields([{ path: ['cancel', 'maker'], message }]);
  const validUntilMs = parseValidUntil(headers);
  return typeof validUntilMs === 'object' ? validUntilMs : { cancel, placements, validUntilMs };
}

function parseCancel(
  { settings, askWallets, readSalts, now }: Pick<Parts, 'settings' | 'askWallets' | 'readSalts' | 'now'>,
  body: unknown,
): AskedCancellations | AskedSalts | Refusal {
  const { MAX_CANCELS_PER_DELETE: itemsMax } = settings;
  if (namesSalts(body)) return readSalts(body, replacedSaltsInput, itemsMax, now());
  const query = new URLSearchParams();
  return parseCancellationBody({ body, query }, itemsMax, askWallets !== undefined, replacedInputs);
}

/** Proves the cancellations of the orders with these salts, if each salt has one. Waits for earlier cancellations. */
async function proveSalted(
  parts: Parts,
  request: ApiRequest,
  cancel: AskedSalts,
  proven: readonly ProvenOrder[],
): Promise<ToCancel | Refusal> {
  const found = await proveSalts(parts, cancel, request, parts.settings.PLACE_WAIT_MS);
  if (isRefusal(found)) return inList('cancel', found);
  const { toCancel, missing } = found;
  if (missing.length === 0) return toCancel;
  const detail = `no open order of the maker has the salt ${missing[0]}: nothing was cancelled or placed`;
  return (
    (await refuseRepeat(parts, proven)) ?? { code: 'not_found', detail, errors: [{ pointer: '/cancel/salts', detail }] }
  );
}

/** Proves the cancellations, if each order is open and the maker's. */
async function proveOpen(
  parts: FindingParts & ProvingParts,
  request: ApiRequest,
  cancel: AskedCancellations,
  proven: readonly ProvenOrder[],
): Promise<ToCancel | Refusal> {
  const hashes = [...new Set(cancel.cancellations.map(({ orderHash }) => orderHash))];
  const known = await findToCancel(parts, request.client, hashes);
  if ([...known.values()].some(({ state }) => state === 'UNSURE')) {
    return unavailable('nothing was stored: the state of the orders to cancel is not known; try again');
  }
  const maker = proven[0]?.order.maker;
  const index = cancel.cancellations.findIndex(({ orderHash }) => {
    const found = known.get(orderHash);
    return found?.state !== 'FOUND' || found.maker !== maker;
  });
  if (index >= 0) return (await refuseRepeat(parts, proven)) ?? refuseGone(cancel, index);
  const cancellations = await proveCancellations(parts, cancel, known, request, false);
  return isRefusal(cancellations) ? inList('cancel', cancellations) : cancellations.toCancel;
}

function refuseGone({ cancellations }: AskedCancellations, index: number): Refusal {
  const detail = `${cancellations[index]?.orderHash} is not open, or not the maker's: nothing was cancelled or placed`;
  return { code: 'not_found', detail, index, errors: [{ pointer: `/cancel/${index}/orderHash`, detail }] };
}

/** Refuses a replacement that was stored before: its new orders are known. */
async function refuseRepeat(
  { findHashes }: FindingParts,
  proven: readonly ProvenOrder[],
): Promise<Refusal | undefined> {
  const found = await unlessAway(
    findHashes(
      proven.map(({ orderHash }) => orderHash),
      false,
    ),
  );
  if (found === undefined || found.some((one) => one.state === 'FOUND' && one.isInFlight)) {
    return unavailable(
      'the outcome of an earlier request is not known yet: send this one again',
      IN_FLIGHT_RETRY_MS / 1000,
    );
  }
  const refusal = refuseAccepted(found.map(wasAccepted));
  return refusal && inList('place', refuse(refusal));
}
