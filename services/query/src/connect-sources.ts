import { type Log, LogUnavailable } from '@makerbook/kafka';
import {
  type After,
  createProjectionWatch,
  type Postgres,
  PostgresUnavailable,
  type ProjectionWatch,
  projectedBlock,
  type ReadModel,
} from '@makerbook/postgres';
import { type ListCache, type ListFill, RedisUnavailable } from '@makerbook/redis';
import type { Logger } from '@makerbook/telemetry';
import type { ListSources } from './read-list.js';

const END_TIMEOUT_MS = 500;
/** Pause after a failed read of the log's end: an absent log must not cost each GET the time-out. */
const END_REST_MS = 500;

/** Counts the outcome of each list that was offered to Redis. */
export interface SourceMetrics {
  readonly filled: (outcome: 'filled' | 'refused' | 'tooLarge' | 'failed') => void;
}

/** The log, Redis and Postgres as sources of a list: undefined from one that is away, an error only for a bug. */
export function createListSources(parts: {
  log: Pick<Log, 'endOffsets'>;
  /** `limit-orders.maker-events.v1` */
  topic: string;
  cache: ListCache;
  rows: Pick<ReadModel, 'readMakerList'>;
  /** Undefined where there is none. */
  replica: Pick<ReadModel, 'readMakerList'> | undefined;
  watch: ProjectionWatch;
  logger: Logger;
  metrics: SourceMetrics;
  /** Milliseconds that never go back. */
  monotonicMs: () => number;
}): ListSources {
  const { log, topic, cache, rows, replica, watch, logger, metrics, monotonicMs } = parts;
  /** Makers whose list is being sent to Redis: once is enough. */
  const filling = new Set<string>();
  let restUntilMs = Number.NEGATIVE_INFINITY;

  async function fill(offer: ListFill): Promise<void> {
    if (filling.has(offer.maker)) return;
    filling.add(offer.maker);
    try {
      metrics.filled(await cache.fillList(offer));
    } catch (error) {
      metrics.filled('failed');
      if (!(error instanceof RedisUnavailable)) logger.error({ error, maker: offer.maker }, 'a list was not cached');
    } finally {
      filling.delete(offer.maker);
    }
  }

  return {
    watch,
    readCached: (maker, partition, nowSeconds) => present(cache.readList(maker, partition, nowSeconds)),
    async readStored(maker, partition, neededPos) {
      if (replica === undefined || neededPos === undefined) return present(rows.readMakerList(maker, partition));
      const copy = await present(replica.readMakerList(maker, partition));
      if (copy !== undefined && copy.nextOffset >= neededPos) return copy;
      return (await present(rows.readMakerList(maker, partition))) ?? copy;
    },
    async readEnd(partition) {
      if (monotonicMs() < restUntilMs) return undefined;
      const ends = await present(log.endOffsets(topic, { timeoutMs: END_TIMEOUT_MS }));
      if (ends === undefined) restUntilMs = monotonicMs() + END_REST_MS;
      return ends?.[partition];
    },
    offerToCache: (offer) => void fill(offer),
  };
}

/** Waits for the projection by its positions in Redis and Postgres. */
export function watchProjection(
  cache: ListCache,
  rows: Pick<ReadModel, 'projectedPositions'>,
  after?: After,
): ProjectionWatch {
  return createProjectionWatch({
    readCachePosition: (partition) => present(cache.readPosition(partition)),
    readStorePositions: () => present(rows.projectedPositions()),
    ...(after && { after }),
  });
}

/** Reads the newest block that all partitions of the read model have; null where there is none, or Postgres is away. */
export function createBlockReader(
  postgres: Postgres,
  partitions: number,
): () => Promise<{ readonly number: number; readonly timestamp: number } | null> {
  return async () => (await present(projectedBlock(postgres, partitions))) ?? null;
}

async function present<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const isAway =
      error instanceof RedisUnavailable || error instanceof PostgresUnavailable || error instanceof LogUnavailable;
    if (isAway) return undefined;
    throw error;
  }
}
