import type { FactCause, SignedOrder } from '@makerbook/client';
import { byteaOf, type Postgres } from '@makerbook/postgres';
import { eventually } from '../kit/eventually.js';
import type { FollowedOrders } from '../kit/follow-orders.js';
import type { TestMaker } from '../kit/open-maker.js';

/** A message to the router: its status, one of the changes that it names, and the cause of the fact. See `Step`. */
export type ExpectedStep = readonly [status: string, change: string, cause: string];

export type OrderChecks = ReturnType<typeof checkOrders>;

/** The facts that remove an order, keyed by the reason that is given. */
const removals: Readonly<Record<string, readonly string[]>> = {
  // The order's own fact ends it if the cancellation comes before it in the log.
  CANCELLED: ['OrderCancelled', 'OrdersCancelled', 'OrderSubmitted', 'BlockProcessed'],
  CANCELLED_ONCHAIN: ['MakerObserved'],
  NONCE_CHANGED: ['MakerObserved', 'BlockProcessed'],
  FILLED: ['MakerObserved'],
  EXPIRED: ['BlockProcessed'],
};

/** Checks that compare what several places know of orders. Each waits until its condition holds. */
export function checkOrders(feed: FollowedOrders, postgres: Postgres) {
  const removalsOf = async (orders: readonly SignedOrder[]) => {
    const rows = await postgres.query<{ order_hash: string; reason: string; partition: number; log_offset: string }>(
      `select order_hash, reason, partition, log_offset::text from order_history
       where happened = 'REMOVED' and order_hash = any($1::bytea[])`,
      [orders.map(({ orderHash }) => byteaOf(orderHash))],
    );
    const say = ({ reason, partition, log_offset }: (typeof rows)[number]) => {
      const fact = feed.factAt(partition, BigInt(log_offset))?.type ?? 'nothing';
      return removals[reason]?.includes(fact) ? reason : `${reason} by ${fact}`;
    };
    return orders.map(({ orderHash }) => {
      const said = rows.filter(({ order_hash }) => order_hash === orderHash).map(say);
      return said.join() || 'open';
    });
  };
  return {
    /**
     * The maker's list shows this, and so does the router's feed unless `inFeed` is given. The log holds a reading of
     * each listed order.
     */
    async both(maker: TestMaker, orders: readonly SignedOrder[], expected: string[], inFeed = expected) {
      await maker.lists(orders, expected);
      await eventually(async () => orders.map(({ orderHash }) => feed.last(orderHash)), inFeed);
      const listed = orders.filter((_, n) => expected[n] !== 'gone');
      await eventually(async () => listed.every(({ orderHash }) => feed.isObserved(orderHash)), true);
    },
    /** These are all messages about the order, each with the fact that it names. */
    async story(order: SignedOrder | undefined, ...expected: ExpectedStep[]) {
      if (order === undefined) throw new Error('there is no such order');
      const ask = async () =>
        feed.steps(order).map(({ status, changes, cause }, n) => {
          const change = expected[n]?.[1] ?? '';
          return [status, changes.includes(change) ? change : changes.join(), cause];
        });
      await eventually<unknown>(ask, expected);
    },
    /** The maker's timeline of the order has these statuses, each with its cause. */
    async told(
      maker: TestMaker,
      { orderHash }: SignedOrder,
      ...expected: (readonly [status: string, cause: string])[]
    ) {
      const ask = async () => {
        const { timeline: all, ...last } = await maker.client.findOrder(orderHash);
        const timeline = all.flatMap((entry) => (entry.happened === 'FILLED' ? [] : [entry]));
        const [first] = timeline;
        const offsets = timeline.map(({ position }) => BigInt(position.split(':')[1] ?? ''));
        const isInOrder = offsets.every((offset, n) => n === 0 || offset >= (offsets[n - 1] ?? 0n));
        if (first?.happened !== 'OPENED' || !isInOrder) throw new Error(`${orderHash}: ${offsets.join(' ')}`);
        const newest = timeline.at(-1);
        if (newest?.remainingMakingAmount !== last.remainingMakingAmount || newest.status !== last.status)
          throw new Error(`${orderHash} is ${last.status}, and last became ${newest?.status}`);
        return timeline.map(({ status, reason, cause }) => [
          reason === undefined ? status : `${status} ${reason}`,
          causeOf(cause),
        ]);
      };
      await eventually<unknown>(ask, expected);
    },
    /** The history says why each was removed, by a fact that can be the reason; `open` for an order that was not. */
    remembered: (orders: readonly SignedOrder[], expected: string[]) => eventually(() => removalsOf(orders), expected),
  };
}

function causeOf(cause: FactCause): string {
  if (cause.kind === 'log') return cause.transactionHash;
  return cause.kind === 'read' ? cause.occasion : cause.kind;
}
