import type { LogClock } from './log-clock.js';
import type { Admission, KnownFunds } from './maker.js';
import type { OpenOrder, OrderStatus } from './open-order.js';
import { type RoutingRules, routableUntilSeconds } from './open-order.js';

/**
 * Judges an open order by itself. It is VALIDATING until it was read on the chain, its nonce is the maker's, and it
 * waits for nothing. Then the funds for what is left to fill decide, allowance first. An unread order may have been
 * cancelled or filled on the chain before it was posted.
 * @param nonce the maker's nonce as read last
 * @param funds of the making token, as read last
 */
export function judge(
  order: Pick<OpenOrder, 'order' | 'remaining' | 'isObserved' | 'waitsFor'>,
  nonce: bigint | undefined,
  funds: KnownFunds | undefined,
): OrderStatus {
  if (order.waitsFor !== undefined) return { status: 'VALIDATING', waitsFor: order.waitsFor };
  if (!order.isObserved || nonce !== order.order.nonce) return { status: 'VALIDATING' };
  if (funds === undefined) return { status: 'VALIDATING', waitsFor: 'FUNDS' };
  if (funds.allowance < order.remaining) return { status: 'INACTIVE', reason: 'INSUFFICIENT_ALLOWANCE' };
  if (funds.balance < order.remaining) return { status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' };
  return { status: 'ACTIVE' };
}

/**
 * True if an open order belongs in the router's book, whatever its state. Its maker is not suspended or removed, no cap
 * is exceeded, and it has time left before its expiry. Ingress takes no order of a maker that was never admitted.
 */
export function isRoutable(
  order: Pick<OpenOrder, 'order' | 'cappedUntil'>,
  admission: Admission,
  { seconds }: Pick<LogClock, 'seconds'>,
  rules: RoutingRules,
): boolean {
  const isBarred = admission === 'SUSPENDED' || admission === 'REMOVED' || order.cappedUntil > 0;
  return !isBarred && seconds < routableUntilSeconds(order, rules);
}
