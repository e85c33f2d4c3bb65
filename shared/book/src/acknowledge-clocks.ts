import { type BookClock, encodeAcknowledged } from '@makerbook/contracts-events';

/**
 * The message by which a router says that it has applied its book up to a clock, for `limit-orders.acks.v1`, as kafkajs
 * sends it. Send one for each clock once the snapshot is complete, and none before the clock is applied.
 * @param router the name that the operator has given it
 */
export function ackOf(router: string, { position }: Pick<BookClock, 'position'>, nowMs: number) {
  const id = `${router}:${position.partition}:${position.offset}`;
  const context = { id, source: '/makerbook/router', timeMs: nowMs };
  return encodeAcknowledged({ type: 'BookAcknowledged', router, position }, context);
}
