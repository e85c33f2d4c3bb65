import type { Funding, OpenOrder, OrderStatus } from './maker.js';

/**
 * The state of an open order, judged alone (Interface 2.4 and 3): VALIDATING until the order itself was seen on
 * the chain, for it may have been cancelled or filled there before it was posted, and the maker's nonce, balance and
 * allowance are known and the nonce is the order's; then by the funds for what is left to fill, allowance first.
 * @param nonce the maker's nonce where the chain is being watched for it, else undefined.
 */
export function judge(
  order: Pick<OpenOrder, 'order' | 'remaining' | 'observedBlock'>,
  nonce: bigint | undefined,
  funding: Pick<Funding, 'balance' | 'allowance'> | undefined,
): OrderStatus {
  const isKnown = order.observedBlock !== undefined && nonce === order.order.nonce;
  if (!isKnown || funding?.balance === undefined || funding.allowance === undefined) return { status: 'VALIDATING' };
  if (funding.allowance.value < order.remaining) return { status: 'INACTIVE', reason: 'INSUFFICIENT_ALLOWANCE' };
  if (funding.balance.value < order.remaining) return { status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' };
  return { status: 'ACTIVE' };
}
