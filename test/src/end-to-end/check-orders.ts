import type { SignedOrder } from '@makerbook/client';
import { byteaOf, type Postgres } from '@makerbook/postgres';
import type { FollowedOrders } from './follow-orders.js';
import { eventually, type TestMaker } from './open-maker.js';

/** What the router is told, a fact that led to it, and the cause of that: see `Step`. */
export type Told = readonly [says: string, fact: string, cause: string];

/** What is known of orders in several places, held against each other. Each waits until it is so. */
export interface OrderChecks {
  /**
   * The maker's list says this, the router's feed too, unless it is told otherwise, and the log what the protocol holds of
   * those that are listed.
   */
  both(maker: TestMaker, orders: readonly SignedOrder[], expected: string[], told?: string[]): Promise<void>;
  /** This is all that the router was told of the order, each time by the fact at the place that the feed names. */
  story(order: SignedOrder | undefined, ...expected: Told[]): Promise<void>;
  /**
   * The history, which nothing leaves, says why each was removed, by a fact that can be the reason; `open` for one that was
   * not.
   */
  remembered(orders: readonly SignedOrder[], expected: string[]): Promise<void>;
}

/** The facts that remove an order, by the reason that is told. */
const removals: Readonly<Record<string, readonly string[]>> = {
  // By its own fact where the cancellation stands before it.
  CANCELLED: ['OrderCancelled', 'OrderSubmitted'],
  CANCELLED_ONCHAIN: ['OrderCancelledOnChain'],
  NONCE_CHANGED: ['NonceChanged', 'BlockProcessed'],
  FILLED: ['OrderFilled'],
  EXPIRED: ['BlockProcessed'],
};

export function checkOrders(feed: FollowedOrders, postgres: Postgres): OrderChecks {
  const removalsOf = async (orders: readonly SignedOrder[]) => {
    const rows = await postgres.query<{ order_hash: string; reason: string; partition: number; log_offset: string }>(
      `select order_hash, reason, partition, log_offset::text from order_history
       where happened = 'REMOVED' and order_hash = any($1::bytea[])`,
      [orders.map(({ orderHash }) => byteaOf(orderHash))],
    );
    const say = ({ reason, partition, log_offset }: (typeof rows)[number]) => {
      const fact = feed.factAt(partition, log_offset)?.type ?? 'nothing';
      return removals[reason]?.includes(fact) ? reason : `${reason} by ${fact}`;
    };
    return orders.map(({ orderHash }) => {
      const said = rows.filter(({ order_hash }) => order_hash === orderHash).map(say);
      return said.join() || 'open';
    });
  };
  return {
    async both(maker, orders, expected, told = expected) {
      await maker.lists(orders, expected);
      await eventually(async () => orders.map(({ orderHash }) => feed.last(orderHash)), told);
      const listed = orders.filter((_, n) => expected[n] !== 'gone');
      await eventually(async () => listed.every(({ orderHash }) => feed.isObserved(orderHash)), true);
    },
    async story(order, ...expected) {
      if (order === undefined) throw new Error('there is no such order');
      const ask = async () =>
        feed.steps(order).map(({ says, facts, cause }, n) => {
          const fact = expected[n]?.[1] ?? '';
          return [says, facts.includes(fact) ? fact : facts.join(), cause];
        });
      await eventually<unknown>(ask, expected);
    },
    remembered: (orders, expected) => eventually(() => removalsOf(orders), expected),
  };
}
