import type { LogClock } from './log-clock.js';
import type { OpenOrder } from './open-order.js';
import { boundedSeconds } from './order.js';

/** A hash is remembered for this long after its order has expired. An order that comes later is not folded. */
export const HASH_MEMORY_SECONDS = 24 * 60 * 60;
/**
 * A broker may store a record more than once, within seconds of its acceptance. The clock may be a minute ahead of the service's, so
 * this is by far long enough.
 */
export const REPEAT_SECONDS = 120;

export interface RoutingRules {
  /** The router's feed drops an order this long before it expires. */
  readonly routingGraceSeconds: number;
}

/** The second from which the router may no longer use the order: `expiresAt` less the grace period. Never below 0. */
export function routableUntilSeconds(order: Pick<OpenOrder, 'order'>, rules: RoutingRules): number {
  return routableUntilOf(expirySeconds(order), rules);
}

/** The same of an order that expires then. */
export function routableUntilOf(expiresAtSeconds: number, { routingGraceSeconds }: RoutingRules): number {
  return Math.max(0, expiresAtSeconds - routingGraceSeconds);
}

/** Until when a repeat of the order's record may come, in seconds. */
export function keptUntil({ acceptedAtMs }: Pick<OpenOrder, 'acceptedAtMs'>): number {
  return Math.ceil(acceptedAtMs / 1000) + REPEAT_SECONDS;
}

/** True if an order that expires then may be forgotten, whatever became of it. */
export function isForgotten(expiresAtSeconds: number, { seconds }: Pick<LogClock, 'seconds'>): boolean {
  return seconds >= expiresAtSeconds + HASH_MEMORY_SECONDS;
}

/** The second from which the order is expired. */
export function expirySeconds({ order }: Pick<OpenOrder, 'order'>): number {
  return boundedSeconds(order.expiresAt);
}
