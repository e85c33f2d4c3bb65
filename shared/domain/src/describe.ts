import type {
  BookCause,
  BookEntry,
  Fill,
  FundingView,
  LogPosition,
  MakerObserved,
  MakerView,
} from '@makerbook/contracts-events';
import { quantity } from '@makerbook/contracts-primitives';
import type { Funding, Maker } from './maker.js';
import type { OpenOrder, OrderStatus } from './open-order.js';
import { type RoutingRules, routableUntilSeconds } from './open-order.js';
import { orderToBody } from './order.js';

/**
 * The part of a listed record that never changes, serialised once: `{"order":{…},"orderHash":"0x…","signature":"0x…"`.
 * Close it with `recordEnd`.
 */
export function recordStart({
  order,
  orderHash,
  signature,
}: Pick<OpenOrder, 'order' | 'orderHash' | 'signature'>): string {
  return JSON.stringify({ order: orderToBody(order), orderHash, signature }).slice(0, -1);
}

/** The details that a listed record gives beside its status. */
export interface RecordDetails {
  /** Unix seconds. */
  readonly routableUntil?: number;
  /** The remaining making amount. Left out while nothing of the order is filled. */
  readonly remaining?: bigint | undefined;
  /** The order's `cappedUntil`. */
  readonly cappedUntil?: number;
}

/** The part of a listed record that follows the chain: `,"status":"INACTIVE","reason":…,"routableUntil":940}`. */
export function recordEnd(
  state: OrderStatus,
  { routableUntil, remaining, cappedUntil = 0 }: RecordDetails = {},
): string {
  const reason = state.status === 'INACTIVE' ? `,"reason":"${state.reason}"` : '';
  const until = routableUntil === undefined ? '' : `,"routableUntil":${routableUntil}`;
  const rest = remaining === undefined ? '' : `,"remainingMakingAmount":"${quantity(remaining)}"`;
  const capped = cappedUntil === 0 ? '' : `,"cappedUntil":${cappedUntil}`;
  return `,"status":"${state.status}"${reason}${until}${rest}${capped}}`;
}

/** The router's view of an open order: one record of `limit-orders.book.v1`. */
export function bookEntryOf(
  order: OpenOrder,
  { known }: Funding,
  causes: readonly BookCause[],
  position: LogPosition,
  rules: RoutingRules,
): BookEntry {
  const base = {
    type: 'BookEntry' as const,
    orderHash: order.orderHash,
    order: orderToBody(order.order),
    signature: order.signature,
    remainingMakingAmount: quantity(order.remaining),
    routableUntil: routableUntilSeconds(order, rules),
    acceptedAtMs: order.acceptedAtMs,
    position,
    causes: [...causes],
  };
  const { state } = order;
  switch (state.status) {
    case 'VALIDATING':
      return { ...base, status: state.status };
    case 'ACTIVE':
      return { ...base, status: state.status, funding: fundingView(order, known) };
    case 'INACTIVE':
      return { ...base, status: state.status, reason: state.reason, funding: fundingView(order, known) };
  }
}

/** The records of `limit-orders.fills.v1` that a reading leads to, in the order of the chain. */
export function fillsOf({ maker, block, fills = [] }: MakerObserved, position: LogPosition): Fill[] {
  return fills.map(({ remaining, timestamp, ...fill }) => {
    const { orderHash, taker, makingToken, makingAmount, takingToken, takingAmount, blockNumber, ...place } = fill;
    const blockTimestamp = timestamp ?? (block.number === blockNumber ? block.timestamp : undefined);
    return {
      type: 'Fill',
      orderHash,
      maker,
      taker,
      ...(makingToken && { makingToken }),
      makingAmount,
      ...(takingToken && { takingToken }),
      takingAmount,
      ...(remaining && { remainingMakingAmount: remaining }),
      blockNumber,
      ...(blockTimestamp !== undefined && { blockTimestamp }),
      ...place,
      position,
    };
  });
}

/** The record of a maker in `limit-orders.makers.v1`, for ingress and query. */
export function makerViewOf(
  { maker, admission, limits, nonce, exits }: Pick<Maker, 'maker' | 'admission' | 'limits' | 'nonce' | 'exits'>,
  position: LogPosition,
): MakerView {
  return {
    type: 'MakerView',
    maker,
    admission,
    nonce: nonce === undefined ? null : quantity(nonce.value),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(exits.cancelKeys.length > 0 && { cancelKeys: [...exits.cancelKeys] }),
    ...exits.readKeys,
    position,
  };
}

function fundingView(order: OpenOrder, known: Funding['known']): FundingView {
  if (!order.isObserved || known === undefined) {
    throw new Error(`order ${order.orderHash} is ${order.state.status} without known funds, or was never read`);
  }
  return { balance: quantity(known.balance), allowance: quantity(known.allowance), block: known.block };
}
