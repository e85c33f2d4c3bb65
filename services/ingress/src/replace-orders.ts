import { replacedInputs, replacementLists } from '@makerbook/contracts-http';
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
import { cancelledHashes } from './decide/decide-cancels.js';
import { placementOf } from './decide/decide-in-time.js';
import { type LookUpParts, lookUp } from './decide/look-up-hashes.js';
import { cancelBudgetOf } from './limits.js';
import { type AskedCancellations, parseCancellationBody } from './parse/parse-cancellations.js';
import { type Placement, parsePlacements, parseValidUntil } from './parse/parse-placements.js';
import type { Parts } from './parts.js';
import { describeAccepted, storeOrders } from './place-orders.js';
import { inList, refuse } from './refuse-placements.js';
import { type ProvingParts, proveCancellations, type ToCancel } from './verify/prove-cancellations.js';
import { proveOrders } from './verify/prove-orders.js';

interface AskedReplacement {
  readonly cancel: AskedCancellations;
  readonly placements: readonly Placement[];
  readonly validUntilMs: number | undefined;
}

/**
 * POST …/replacements: cancels orders of one maker and places others, all or nothing. Everything is judged as in the two
 * requests that it stands for; besides, each order to be cancelled has to be open, and no other request may cancel it at the
 * moment: so an order is replaced once. The facts lie in one record batch, the cancellations first. The limit of open orders is
 * judged by the result. An order of which another
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
  const replacement: Replacement = {
    kind: 'replacement',
    placement: placementOf(parts, proven, validUntilMs),
    budget: cancelBudgetOf(parts.settings),
    cancels: cancelledHashes(parts, open),
    expected: cancel.cancellations,
  };
  const stored = await storeOrders(parts, request, replacement, proven, [...open.values()]);
  if (isRefusal(stored)) return stored;
  parts.metrics.ordersCancelled(open.size);
  const cancelled = orderHashes.map((orderHash) => ({ orderHash, status: 'CANCELLED' }));
  const body = [`{"cancelled":${JSON.stringify(cancelled)},"placed":`, describeAccepted(proven), '}'];
  const acknowledged = { placed: proven.map(({ orderHash }) => orderHash), cancelled: orderHashes };
  const headers = await acknowledge(parts, request, stored.appended, acknowledged, true);
  return okJson(Buffer.concat(body.map((piece) => Buffer.from(piece))), { ...stored.headers, ...headers });
}

function parseReplacement(
  { settings, askWallets }: Pick<Parts, 'settings' | 'askWallets'>,
  { body, headers }: ApiRequest,
): AskedReplacement | Refusal {
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

/** The cancellations, if each order is open and of the maker. */
async function proveOpen(
  parts: LookUpParts & ProvingParts,
  request: ApiRequest,
  cancel: AskedCancellations,
  proven: readonly ProvenOrder[],
): Promise<ToCancel | Refusal> {
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
  const cancellations = await proveCancellations(parts, cancel, known, request, false);
  return isRefusal(cancellations) ? inList('cancel', cancellations) : cancellations.toCancel;
}

function refuseGone({ cancellations }: AskedCancellations, index: number): Refusal {
  const detail = `${cancellations[index]?.orderHash} is no open order of the maker: nothing was cancelled or placed`;
  return { code: 'not_found', detail, index, errors: [{ pointer: `/cancel/${index}/orderHash`, detail }] };
}

/** A replacement that was stored is sent again: its new orders are known. */
async function refuseRepeat({ find }: LookUpParts, proven: readonly ProvenOrder[]): Promise<Refusal | undefined> {
  const found = await unlessAway(
    find(
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
