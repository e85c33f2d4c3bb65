import type { Logger } from '@makerbook/kafka';
import { type PartitionRefresher, RedisUnavailable, type RefreshBatch, type RefreshOutcome } from '@makerbook/redis';

/** Brings Redis to a committed batch. Never throws: a cache that missed a batch is void and fills anew. */
export type CacheRefresh = (batch: RefreshBatch) => Promise<void>;

/**
 * The projection does not wait for Redis: while it is away, batches are skipped and counted, and one line is logged. When it is back
 * its position does not fit the next batch, and it forgets the partition.
 */
export function createCacheRefresh(
  refresher: Pick<PartitionRefresher, 'refreshPartition'>,
  logger: Pick<Logger, 'info' | 'warn' | 'error'>,
  count: (outcome: RefreshOutcome | 'skipped') => void,
): CacheRefresh {
  let isAway = false;
  return async (batch) => {
    try {
      count(await refresher.refreshPartition(batch));
      if (isAway) logger.info({}, 'Redis is back, and is refreshed again');
      isAway = false;
    } catch (error) {
      count('skipped');
      const reason = error instanceof Error ? error.message : String(error);
      if (!(error instanceof RedisUnavailable)) {
        logger.error({ partition: batch.partition, reason }, 'Redis refused a refresh');
      } else if (!isAway) {
        logger.warn({ reason }, 'Redis is away: the projection goes on, lists are served from Postgres');
      }
      isAway = true;
    }
  };
}
