import type { KnownFunds, OpenOrder, OrderStatus } from './maker.js';

/**
 * The state of an open order, judged alone (Interface 2.4 and 3): VALIDATING until it was read on the chain, for it may have
 * been cancelled or filled there before it was posted, and its nonce is the maker's; then by the funds for what is left to
 * fill, allowance first.
 * @param nonce the maker's nonce as read last
 * @param funds of the making token, as read last
 */
export function judge(
  order: Pick<OpenOrder, 'order' | 'remaining' | 'isObserved'>,
  nonce: bigint | undefined,
  funds: KnownFunds | undefined,
): OrderStatus {
  if (!order.isObserved || nonce !== order.order.nonce || funds === undefined) return { status: 'VALIDATING' };
  if (funds.allowance < order.remaining) return { status: 'INACTIVE', reason: 'INSUFFICIENT_ALLOWANCE' };
  if (funds.balance < order.remaining) return { status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' };
  return { status: 'ACTIVE' };
}
