import type { OpenOrder } from './maker.js';
import type { Rules } from './maker-draft.js';
import { boundedSeconds } from './order.js';

/** The second from which the router may no longer use the order: `expiresAt` less the grace period. Never below 0. */
export function routableUntilSeconds(
  order: Pick<OpenOrder, 'order'>,
  rules: Pick<Rules, 'routingGraceSeconds'>,
): number {
  return Math.max(0, expirySeconds(order) - rules.routingGraceSeconds);
}

/** The second from which the order is expired. */
export function expirySeconds({ order }: Pick<OpenOrder, 'order'>): number {
  return boundedSeconds(order.expiresAt);
}
