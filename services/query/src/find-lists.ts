import type { Hex } from '@makerbook/contracts-primitives';
import { PostgresUnavailable, type ReadModel } from '@makerbook/postgres';
import { type HeldLists, type JoinedList, joinRecords, type ListCache, RedisUnavailable } from '@makerbook/redis';
import type { Logger } from '@makerbook/telemetry';

/** A list, and where it comes from. */
export interface Found {
  readonly list: JoinedList;
  readonly source: 'memory' | 'redis' | 'postgres';
}

/** Where lists are found. What is away finds nothing: only a bug throws. */
export interface ListFinder {
  /** The maker's list of this version, or a newer one: from memory, else from Redis, else from Postgres. */
  find(maker: Hex, version: bigint): Promise<Found | undefined>;
  /** The newest list that memory or Redis has, for the time that Postgres is away. */
  findNewest(maker: Hex): Promise<Found | undefined>;
}

export interface ListFinderParts {
  readonly held: HeldLists;
  readonly cache: ListCache;
  readonly rows: Pick<ReadModel, 'readMakerList'>;
  readonly logger: Logger;
  /** Counts what became of each list that was offered to Redis. */
  readonly filled: (outcome: 'filled' | 'tooLarge' | 'failed') => void;
}

export function createListFinder({ held, cache, rows, logger, filled }: ListFinderParts): ListFinder {
  /** By maker and version: many requests that miss the same list at once read it once. */
  const loading = new Map<string, Promise<Found | undefined>>();

  async function load(maker: Hex, version: bigint): Promise<Found | undefined> {
    const cached = await present(cache.readList(maker));
    if (cached?.version === version) {
      held.keep(maker, cached);
      return { list: cached, source: 'redis' };
    }
    const stored = await present(rows.readMakerList(maker));
    if (stored === undefined) return undefined;
    const records = stored.records.map(({ acceptedOffset, expiresAtSeconds, json }) => {
      return { acceptedOffset: Number(acceptedOffset), expiresAtSeconds, json: Buffer.from(json) };
    });
    const list = joinRecords(stored.version, records);
    held.keep(maker, list);
    void offer(maker, list);
    return { list, source: 'postgres' };
  }

  /** Nobody waits for it. */
  async function offer(maker: Hex, list: JoinedList): Promise<void> {
    try {
      filled((await cache.storeList(maker, list)) ? 'filled' : 'tooLarge');
    } catch (error) {
      filled('failed');
      if (!(error instanceof RedisUnavailable)) logger.error({ error, maker }, 'a list was not cached');
    }
  }

  return {
    async find(maker, version) {
      const list = held.find(maker);
      if (list?.version === version) return { list, source: 'memory' };
      const key = `${maker} ${version}`;
      const found = loading.get(key) ?? load(maker, version).finally(() => loading.delete(key));
      loading.set(key, found);
      return found;
    },

    async findNewest(maker) {
      const cached = await present(cache.readList(maker));
      const list = held.find(maker);
      if (cached !== undefined && (list === undefined || list.version < cached.version)) {
        return { list: cached, source: 'redis' };
      }
      return list && { list, source: 'memory' };
    },
  };
}

/** Undefined where Postgres or Redis is away. */
export async function present<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RedisUnavailable || error instanceof PostgresUnavailable) return undefined;
    throw error;
  }
}
