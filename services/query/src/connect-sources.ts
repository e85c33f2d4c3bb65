import { type Log, LogUnavailable } from '@makerbook/kafka';
import { type Postgres, PostgresUnavailable, projectedPosition, readMakerList } from '@makerbook/postgres';
import { type ListCache, type ListFill, RedisUnavailable } from '@makerbook/redis';
import type { Logger } from '@makerbook/telemetry';
import type { ProjectionWatch, ProjectionWatchOptions } from './await-projection.js';
import type { ListSources } from './read-list.js';

const END_TIMEOUT_MS = 500;
/** After the log could not be asked, it is left alone for so long: its absence must not cost each GET the time-out. */
const END_REST_MS = 500;

/** What became of lists that were offered to Redis, for metrics. */
export interface SourceNotes {
  readonly filled: (outcome: 'filled' | 'refused' | 'tooLarge' | 'failed') => void;
}

/** The log, Redis and Postgres as sources of a list: each says undefined where it is away, and throws for a bug alone. */
export function createListSources(parts: {
  log: Pick<Log, 'endOffsets'>;
  /** `limit-orders.maker-events.v1` */
  topic: string;
  cache: ListCache;
  postgres: Postgres;
  watch: ProjectionWatch;
  logger: Logger;
  notes: SourceNotes;
  /** Milliseconds that never go back. */
  monotonicMs: () => number;
}): ListSources {
  const { log, topic, cache, postgres, watch, logger, notes, monotonicMs } = parts;
  /** Makers whose list is on its way to Redis: once is enough. */
  const filling = new Set<string>();
  let restUntilMs = Number.NEGATIVE_INFINITY;

  async function fill(offer: ListFill): Promise<void> {
    if (filling.has(offer.maker)) return;
    filling.add(offer.maker);
    try {
      notes.filled(await cache.fillList(offer));
    } catch (error) {
      notes.filled('failed');
      if (!(error instanceof RedisUnavailable)) logger.error({ error, maker: offer.maker }, 'a list was not cached');
    } finally {
      filling.delete(offer.maker);
    }
  }

  return {
    watch,
    readCached: (maker, partition, nowSeconds) => present(cache.readList(maker, partition, nowSeconds)),
    readStored: (maker, partition) => present(readMakerList(postgres, maker, partition)),
    async readEnd(partition) {
      if (monotonicMs() < restUntilMs) return undefined;
      const ends = await present(log.endOffsets(topic, { timeoutMs: END_TIMEOUT_MS }));
      if (ends === undefined) restUntilMs = monotonicMs() + END_REST_MS;
      return ends?.[partition];
    },
    offerToCache: (offer) => void fill(offer),
  };
}

/** How the projection's position is asked for while requests wait for it. */
export function createStoredPositions(cache: ListCache, postgres: Postgres): ProjectionWatchOptions {
  return {
    readCachePosition: (partition) => present(cache.readPosition(partition)),
    readStorePosition: (partition) => present(projectedPosition(postgres, partition)),
  };
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
