import type { BookEntry, FundingView, LogPosition, MakerView } from '@makerbook/contracts-events';
import { type Rules, routableUntilSeconds } from './evolve.js';
import type { Admission, Funding, Observed, OpenOrder, OrderStatus } from './maker.js';
import { type Address, orderToBody, quantity } from './order.js';

/**
 * The part of a listed record that never changes (Interface 2.3), serialised once:
 * `{"order":{…},"orderHash":"0x…","signature":"0x…"`, to be closed by `recordEnd`.
 */
export function recordStart({
  order,
  orderHash,
  signature,
}: Pick<OpenOrder, 'order' | 'orderHash' | 'signature'>): string {
  return JSON.stringify({ order: orderToBody(order), orderHash, signature }).slice(0, -1);
}

/** The part of a listed record that follows the chain: `,"status":"INACTIVE","reason":"INSUFFICIENT_BALANCE"}`. */
export function recordEnd(state: OrderStatus): string {
  return state.status === 'INACTIVE'
    ? `,"status":"${state.status}","reason":"${state.reason}"}`
    : `,"status":"${state.status}"}`;
}

/** The router's view of an open order: one record of `limit-orders.book.v1`. */
export function bookEntryOf(
  order: OpenOrder,
  funding: Funding,
  position: LogPosition,
  rules: Pick<Rules, 'routingGraceSeconds'>,
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
  };
  const { state } = order;
  switch (state.status) {
    case 'VALIDATING':
      return { ...base, status: state.status };
    case 'ACTIVE':
      return { ...base, status: state.status, funding: fundingView(order, funding) };
    case 'INACTIVE':
      return { ...base, status: state.status, reason: state.reason, funding: fundingView(order, funding) };
  }
}

/** What ingress and query must know of a maker: one record of `limit-orders.makers.v1`. */
export function makerViewOf(
  { maker, admission, nonce }: { maker: Address; admission: Admission; nonce: Observed | undefined },
  position: LogPosition,
): MakerView {
  return {
    type: 'MakerView',
    maker,
    admission,
    nonce: nonce === undefined ? null : quantity(nonce.value),
    position,
  };
}

function fundingView(order: OpenOrder, funding: Funding): FundingView {
  if (order.observedBlock === undefined || funding.balance === undefined || funding.allowance === undefined) {
    throw new Error(`order ${order.orderHash} is ${order.state.status} without known funding, or was never looked at`);
  }
  return {
    balance: quantity(funding.balance.value),
    balanceBlock: funding.balance.blockNumber,
    allowance: quantity(funding.allowance.value),
    allowanceBlock: funding.allowance.blockNumber,
  };
}
