import type { Hex } from '@makerbook/contracts-primitives';
import { type ReadModel, unlessAway } from '@makerbook/postgres';
import { type JoinedList, joinRecords, type ListCache } from '@makerbook/redis';
import type { HeldLists } from './hold-lists.js';

/** A list, and where it comes from. */
export interface Found {
  readonly list: JoinedList;
  readonly source: 'memory' | 'redis' | 'postgres';
}

export type ListFinder = ReturnType<typeof createListFinder>;

export interface ListFinderParts {
  readonly held: HeldLists;
  readonly cache: ListCache;
  readonly rows: Pick<ReadModel, 'readMakerList'>;
  /** Counts what became of each list that was offered to Redis. */
  readonly filled: (outcome: Awaited<ReturnType<ListCache['storeList']>>) => void;
}

/** Finds lists. A source that is away finds nothing; only a bug throws. */
export function createListFinder({ held, cache, rows, filled }: ListFinderParts) {
  /** Reads under way, by maker and version, so that requests that miss the same list share one read. */
  const loading = new Map<string, Promise<Found | undefined>>();

  async function load(maker: Hex, version: bigint): Promise<Found | undefined> {
    const cached = await cache.readList(maker);
    if (cached?.version === version) {
      held.keep(maker, cached);
      return { list: cached, source: 'redis' };
    }
    const stored = await unlessAway(rows.readMakerList(maker));
    if (stored === undefined) return undefined;
    const records = stored.records.map(({ acceptedOffset, expiresAtSeconds, json }) => {
      return { acceptedOffset: Number(acceptedOffset), expiresAtSeconds, json: Buffer.from(json) };
    });
    const list = joinRecords(stored.version, records);
    held.keep(maker, list);
    // Nobody waits for it.
    void cache.storeList(maker, list).then(filled, () => filled('failed'));
    return { list, source: 'postgres' };
  }

  return {
    /** The maker's list of this version, or a newer one: from memory, else from Redis, else from Postgres. */
    async find(maker: Hex, version: bigint): Promise<Found | undefined> {
      const list = held.find(maker);
      if (list?.version === version) return { list, source: 'memory' };
      const key = `${maker} ${version}`;
      const found = loading.get(key) ?? load(maker, version).finally(() => loading.delete(key));
      loading.set(key, found);
      return found;
    },

    /** The newest list that memory or Redis has, for the time that Postgres is away. */
    async findNewest(maker: Hex): Promise<Found | undefined> {
      const cached = await cache.readList(maker);
      const list = held.find(maker);
      if (cached !== undefined && (list === undefined || list.version < cached.version)) {
        return { list: cached, source: 'redis' };
      }
      return list && { list, source: 'memory' };
    },
  };
}
