import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { type Rules, recordEnd, routableUntilOf } from '@makerbook/domain';
import { LRUCache } from 'lru-cache';
import { type JoinedList, joinRecords, type ListRecord } from './join-records.js';
import type { ListChanges, ListedOrder } from './store/read-lists.js';
import type { ReadModel } from './store/read-model.js';

/** The cost of a list besides its bytes. */
const LIST_OVERHEAD_BYTES = 500;
const RECORD_OVERHEAD_BYTES = 250;

/** A list, and where it comes from. */
export interface Found {
  readonly list: JoinedList;
  readonly source: 'memory' | 'postgres';
}

export type ListFinder = ReturnType<typeof createListFinder>;

export interface ListFinderParts {
  readonly cache: ListCache;
  readonly rows: Pick<ReadModel, 'readMakerList' | 'readListChanges'>;
  readonly rules: Pick<Rules, 'routingGraceSeconds'>;
}

/** Finds lists. While Postgres is away it finds none of a version that is not held; only a bug throws. */
export function createListFinder({ cache, rows, rules }: ListFinderParts) {
  /** Reads under way, by maker and version, so that requests that miss the same list share one read. */
  const loading = new Map<string, Promise<Found | undefined>>();

  const encode = (order: ListedOrder) => encodeRecord(order, routableUntilOf(order.expiresAtSeconds, rules));

  async function load(maker: Hex, version: bigint): Promise<Found | undefined> {
    const older = cache.find(maker);
    const base = older !== undefined && older.version < version ? older : undefined;
    const changes = base && (await unlessAway(rows.readListChanges(maker, base.version)));
    const list = base && changes ? patchList(base, changes, encode) : await readWhole(maker);
    if (list === undefined) return undefined;
    cache.keep(maker, list);
    return { list, source: 'postgres' };
  }

  async function readWhole(maker: Hex): Promise<JoinedList | undefined> {
    const stored = await unlessAway(rows.readMakerList(maker));
    return stored && joinRecords(stored.version, stored.records.map(encode));
  }

  return {
    /** The maker's list of this version, or a newer one: from memory, else from Postgres. */
    async find(maker: Hex, version: bigint): Promise<Found | undefined> {
      const list = cache.find(maker);
      if (list?.version === version) return { list, source: 'memory' };
      const key = `${maker} ${version}`;
      const found = loading.get(key) ?? load(maker, version).finally(() => loading.delete(key));
      loading.set(key, found);
      return found;
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

/** The lists that this process has in memory, one of a maker. */
export type ListCache = ReturnType<typeof cacheLists>;

/** Keeps lists in memory up to `bytesMax`. A single list larger than that is not kept. */
export function cacheLists(bytesMax = 128 * 1024 * 1024) {
  const lists = new LRUCache<string, JoinedList>({ maxSize: bytesMax, sizeCalculation: bytesOf });
  return {
    find: (maker: string): JoinedList | undefined => lists.get(maker),
    /** Keeps the list unless a newer one of the maker is there. Drops those that were not used for longest. */
    keep(maker: string, list: JoinedList): void {
      const known = lists.peek(maker);
      if (known === undefined || known.version <= list.version) lists.set(maker, list);
    },
  };
}

function bytesOf({ body, records }: JoinedList): number {
  // A server may keep packed forms of the body, which are half as large together.
  return Math.ceil(1.5 * body.length) + RECORD_OVERHEAD_BYTES * records.length + LIST_OVERHEAD_BYTES;
}
