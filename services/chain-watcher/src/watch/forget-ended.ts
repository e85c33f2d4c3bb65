import type { Address } from '@makerbook/contracts-primitives';
import { type Logger, partitionOf } from '@makerbook/kafka';
import type { OpenOrderRow, ProjectedPartition } from '../store/read-open-orders.js';
import type { FollowedLog } from './follow-log.js';
import type { WatchedSet } from './watched-set.js';

/** How often to check the size of the set. */
const LOOK_MS = 10_000;
/**
 * The rows are read again once the watched orders have doubled since the last time, and grown by at least this many.
 */
const MORE_ORDERS_MIN = 50_000;

export interface ForgetEndedParts {
  readonly watched: WatchedSet;
  readonly followed: Pick<FollowedLog, 'startOf' | 'partitions'>;
  readonly partitions: number;
  /** Reads the open orders of the rows. @returns how far the rows of each partition have come in the log */
  readonly loadOrders: (onOrders: (orders: readonly OpenOrderRow[]) => void) => Promise<readonly ProjectedPartition[]>;
  /** Replaces MORE_ORDERS_MIN. */
  readonly moreOrdersMin?: number | undefined;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly signal: AbortSignal;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Drops ended orders that the feed did not report, until the signal is aborted. The feed has no tombstone for an order
 * that ends before it was in the book or while it is withheld. The rows know which orders are open.
 */
export async function forgetEnded(parts: ForgetEndedParts): Promise<void> {
  const { watched, moreOrdersMin = MORE_ORDERS_MIN, logger, signal, wait } = parts;
  for (let kept = watched.sizes().orders; ; ) {
    await wait(LOOK_MS, signal);
    if (signal.aborted) return;
    const { orders } = watched.sizes();
    if (orders < 2 * kept || orders < kept + moreOrdersMin) continue;
    try {
      await retainOpen(parts);
    } catch (error) {
      // The watcher does not need Postgres to publish. Until the rows are read it watches more than is open.
      logger.warn({ reason: String(error) }, 'the open orders could not be read again: retrying');
      continue;
    }
    kept = watched.sizes().orders;
    logger.info({ watched: orders, open: kept }, 'orders that have ended are not watched any more');
  }
}

/**
 * Forgets the orders that the rows do not have. Keeps an order whose offset the rows have not reached: after a failover
 * the rows go back. Also keeps one that comes from the log while the rows are read: it was not in the set when its row
 * came.
 */
async function retainOpen(parts: ForgetEndedParts): Promise<void> {
  const { watched, followed, partitions, loadOrders, signal, wait } = parts;
  const readTo = followed.partitions.map(({ position }) => position);
  const open = new Set<number>();
  const positions = await loadOrders((orders) => {
    for (const { orderHash } of orders) open.add(watched.findOrder(orderHash));
  });
  const rowsOf = new Map(positions.map((each) => [each.partition, each]));
  const stays = (order: number, maker: Address, offset: bigint | undefined) => {
    if (open.has(order)) return true;
    const partition = partitionOf(maker, partitions);
    const rows = rowsOf.get(partition);
    const rowsTo = rows?.quarantined.get(maker) ?? rows?.nextOffset ?? 0n;
    const at = offset ?? followed.startOf(partition) - 1n;
    return at >= rowsTo || at >= (readTo[partition] ?? 0n);
  };
  await watched.retain(stays, () => wait(0, signal));
}
