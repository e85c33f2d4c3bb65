import type { Hex } from '@makerbook/contracts-primitives';
import { type Rules, recordEnd, routableUntilOf } from '@makerbook/domain';
import { type ListChanges, type ListedOrder, type ReadModel, unlessAway } from '@makerbook/postgres';
import { type JoinedList, joinRecords, type ListCache, type ListRecord } from '@makerbook/redis';
import { LRUCache } from 'lru-cache';
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
  readonly rows: Pick<ReadModel, 'readMakerList' | 'readListChanges'>;
  readonly rules: Pick<Rules, 'routingGraceSeconds'>;
  /** Counts what became of each list that was offered to Redis. */
  readonly filled: (outcome: Awaited<ReturnType<ListCache['storeList']>>) => void;
}

/** A list is offered to Redis again once this share of it has changed. */
const UNSTORED_SHARE = 0.25;
const MAKERS_MAX = 10_000;

/** Finds lists. A source that is away finds nothing; only a bug throws. */
export function createListFinder({ held, cache, rows, rules, filled }: ListFinderParts) {
  /** Reads under way, by maker and version, so that requests that miss the same list share one read. */
  const loading = new Map<string, Promise<Found | undefined>>();

  /** Records that have changed since the maker's list was offered to Redis. */
  const unstored = new LRUCache<Hex, number>({ max: MAKERS_MAX });

  const encode = (order: ListedOrder) => encodeRecord(order, routableUntilOf(order.expiresAtSeconds, rules));

  async function load(maker: Hex, version: bigint): Promise<Found | undefined> {
    const isBefore = (list: JoinedList | undefined) => list !== undefined && list.version < version;
    const inMemory = held.find(maker);
    const cached = isBefore(inMemory) ? undefined : await cache.readList(maker);
    if (cached?.version === version) {
      held.keep(maker, cached);
      return { list: cached, source: 'redis' };
    }
    const base = [inMemory, cached].find(isBefore);
    const changes = base && (await unlessAway(rows.readListChanges(maker, base.version)));
    const list = base && changes ? patchList(base, changes, encode) : await readWhole(maker);
    if (list === undefined) return undefined;
    held.keep(maker, list);
    offer(maker, list, changes && changes.records.length + changes.removed.length);
    return { list, source: 'postgres' };
  }

  async function readWhole(maker: Hex): Promise<JoinedList | undefined> {
    const stored = await unlessAway(rows.readMakerList(maker));
    return stored && joinRecords(stored.version, stored.records.map(encode));
  }

  /** Offers the list to Redis, where much of it has changed since the last time. Nobody waits for it. */
  function offer(maker: Hex, list: JoinedList, changed = Number.POSITIVE_INFINITY): void {
    const sum = (unstored.get(maker) ?? 0) + changed;
    const isToStore = sum > list.records.length * UNSTORED_SHARE;
    unstored.set(maker, isToStore ? 0 : sum);
    if (isToStore) void cache.storeList(maker, list).then(filled, () => filled('failed'));
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

/** The list as it is after the changes: what has not changed keeps its bytes. */
function patchList(
  { records: before }: JoinedList,
  { version, records, removed }: ListChanges,
  encode: (order: ListedOrder) => ListRecord,
): JoinedList {
  const touched = new Set([...removed, ...records.map(({ orderHash }) => orderHash)]);
  const kept = before.filter(({ orderHash }) => !touched.has(orderHash));
  const all = [...kept, ...records.map(encode)].sort((a, b) => a.acceptedOffset - b.acceptedOffset);
  return joinRecords(version, all);
}

function encodeRecord(order: ListedOrder, routableUntil: number): ListRecord {
  const { orderHash, acceptedOffset, expiresAtSeconds, recordStart, state, remaining, cappedUntil } = order;
  const json = Buffer.from(recordStart + recordEnd(state, { routableUntil, remaining, cappedUntil }));
  return { orderHash, acceptedOffset: Number(acceptedOffset), expiresAtSeconds, json };
}
