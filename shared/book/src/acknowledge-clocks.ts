import { type BookClock, encodeAcknowledged } from '@makerbook/contracts-events';

/**
 * The message for `limit-orders.acks.v1` by which a router says that it has applied its book up to a clock, in the form
 * that kafkajs sends. Once the snapshot is complete, send one for each clock, and only after you have applied the
 * clock.
 * @param router the name that the operator gave the router
 */
export function ackOf(router: string, { position }: Pick<BookClock, 'position'>, nowMs: number) {
  const id = `${router}:${position.partition}:${position.offset}`;
  const context = { id, source: '/makerbook/router', timeMs: nowMs };
  return encodeAcknowledged({ type: 'BookAcknowledged', router, position }, context);
}
