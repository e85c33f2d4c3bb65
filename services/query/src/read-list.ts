import type { LimitOrderRecord } from '@makerbook/contracts-http';
import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { type Rules, recordEnd, routableUntilOf } from '@makerbook/domain';
import { LRUCache } from 'lru-cache';
import type { Asker } from './answer-signed.js';
import type { WriteWatch } from './await-writes.js';
import { type JoinedList, joinRecords, type ListRecord } from './join-records.js';
import type { ListChanges, ListedOrder, ListState, MakerList } from './store/read-lists.js';

/** Increase it when records say more than before: clients may hold the list of an earlier build. */
const FORMAT = 2;
/** The cost of a list besides its bytes. */
const LIST_OVERHEAD_BYTES = 500;
const RECORD_OVERHEAD_BYTES = 250;

/** A list as it is served. */
export interface Listing {
  /** A JSON array of records, oldest acceptance first. */
  readonly body: Buffer;
  /** Equal lists have equal ETags, wherever they were read. */
  readonly etag: string;
  /** The offset of the fact that changed the list last; 0n before the first. */
  readonly version: bigint;
  /** The acceptance offset at which the next page begins, if there is one. */
  readonly next: bigint | undefined;
  readonly source: Found['source'];
  /** The number of the maker's own writes that the list does not show yet; undefined if unknown. */
  readonly lag: number | undefined;
  /** When the maker's switch cancels its orders, in seconds since 1970; 0: never, or unknown. */
  readonly cancelAt: number;
}

export interface ReadListParts {
  readonly watch: WriteWatch;
  readonly finder: ListFinder;
  readonly cache: ListCache;
}

/**
 * Reads the maker's list with every write that was answered before its state was read. Waits until the read model has
 * those writes, and counts the missing ones after the longest wait. While Postgres is down, returns the list that this
 * process holds, or undefined if it holds none.
 */
export async function readList(
  { maker, state: begun, nowSeconds }: Asker,
  page: Page,
  { watch, finder, cache }: ReadListParts,
): Promise<Listing | undefined> {
  const state = begun && (await watch.awaitSettled(maker, begun));
  const current = state && (await finder.find(maker, state.version));
  const found = current ?? inMemory(cache.find(maker));
  if (found === undefined) return undefined;
  // Hide them only in the answer, not in the cache: this clock may be ahead for a moment.
  const list = hideExpired(found.list, nowSeconds);
  const { records, next } = takePage(pickRecords(list.records, page.only), page);
  const body = records === list.records ? list.body : joinRecords(list.version, records).body;
  // After a crash of Postgres the rows can be older than the state that was read before.
  const isOlder = current !== undefined && state !== undefined && current.list.version < state.version;
  const lag = state === undefined || current === undefined || isOlder ? undefined : lagOf(state);
  const cancelAt = state?.cancelAt ?? 0;
  return {
    body,
    etag: etagOf(list, records, page.only),
    version: list.version,
    next,
    source: found.source,
    lag,
    cancelAt,
  };
}

function inMemory(list: JoinedList | undefined): Found | undefined {
  return list && { list, source: 'memory' };
}

/**
 * The number of the maker's own writes that the rows do not show; undefined if unknown.
 * @param read what was read after the state: Postgres may have lost rows in between
 */
export function lagOf({ unsettled, isUnsure }: ListState, read?: { readonly isUnsure: boolean }): number | undefined {
  return isUnsure || read?.isUnsure ? undefined : unsettled.length;
}

function hideExpired(list: JoinedList, nowSeconds: number): JoinedList {
  const isOpen = ({ expiresAtSeconds }: ListRecord) => expiresAtSeconds > nowSeconds;
  return list.records.every(isOpen) ? list : joinRecords(list.version, list.records.filter(isOpen));
}

/**
 * Within a version, the number of unexpired records identifies the list, because records expire one after the other.
 * Start, length and filter identify a page. The ETag is weak: the compressed forms of the body have the same one.
 */
function etagOf({ version, records: unexpired }: JoinedList, page: readonly ListRecord[], only?: ListFilter): string {
  const asked = only === undefined ? '' : `-${Object.values(only).join('-')}`;
  return `W/"${FORMAT}-${version}-${unexpired.length}-${page[0]?.acceptedOffset ?? 'empty'}-${page.length}${asked}"`;
}

/** Selects the orders that match all of these. */
export interface ListFilter {
  /** Minimal hex. */
  readonly orderSalt: Hex | undefined;
  readonly making: Hex | undefined;
  readonly taking: Hex | undefined;
  readonly status: readonly LimitOrderRecord['status'][] | undefined;
}

/** Picks records. Returns the same array if there is no filter. */
function pickRecords<T extends { readonly json: Buffer }>(records: readonly T[], only: ListFilter | undefined) {
  if (only === undefined) return records;
  const { orderSalt, making, taking, status } = only;
  const texts = [orderSalt, making, taking].flatMap((text) => (text === undefined ? [] : `"${text}"`));
  return records.filter(({ json }) => {
    // Most records lack these texts, and need not be parsed.
    if (!texts.every((text) => json.includes(text))) return false;
    const { order, status: own } = JSON.parse(String(json)) as LimitOrderRecord;
    const isMeant = (wanted: Hex | undefined, is: Hex) => wanted === undefined || wanted === is;
    return (
      isMeant(orderSalt, order.salt) &&
      isMeant(making, order.making.token) &&
      isMeant(taking, order.taking.token) &&
      (status === undefined || status.includes(own))
    );
  });
}

/** The part of a list that a request asks for. */
export interface Page {
  /** Orders that were accepted at this offset or later. */
  readonly from: bigint | undefined;
  readonly ordersMax: number | undefined;
  /** Selects orders. All of them if left out. */
  readonly only?: ListFilter | undefined;
}

/**
 * The page of a list, and where the next page begins, if there is one. That is an offset of acceptance: new orders come
 * behind it, and removed ones do not move it. So no order is skipped or listed twice.
 */
export function takePage<T extends { readonly acceptedOffset: number }>(
  records: readonly T[],
  { from = 0n, ordersMax = records.length }: Page,
): { readonly records: readonly T[]; readonly next: bigint | undefined } {
  const first = records.findIndex(({ acceptedOffset }) => acceptedOffset >= from);
  if (first < 0) return { records: [], next: undefined };
  const to = first + ordersMax;
  const page = first === 0 && to >= records.length ? records : records.slice(first, to);
  const last = page.at(-1);
  return { records: page, next: to < records.length && last ? BigInt(last.acceptedOffset) + 1n : undefined };
}

/** A list, and where it comes from. */
export interface Found {
  readonly list: JoinedList;
  readonly source: 'memory' | 'postgres';
}

export type ListFinder = ReturnType<typeof createListFinder>;

export interface ListFinderParts {
  readonly cache: ListCache;
  readonly rows: {
    readonly readMakerList: (maker: Hex) => Promise<MakerList>;
    readonly readListChanges: (maker: Hex, since: bigint) => Promise<ListChanges | undefined>;
  };
  readonly rules: Pick<Rules, 'routingGraceSeconds'>;
}

/** Finds lists. While Postgres is down, it finds only versions that this process holds. Throws only on a bug. */
export function createListFinder({ cache, rows, rules }: ListFinderParts) {
  /** Reads under way, keyed by maker and version. Requests that miss the same list share one read. */
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

/** Applies changes to a list. Records that have not changed keep their bytes. */
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

/** The lists that this process has in memory, one per maker. */
export type ListCache = ReturnType<typeof cacheLists>;

/** Keeps lists in memory up to `bytesMax`. A single list larger than that is not kept. */
export function cacheLists(bytesMax = 128 * 1024 * 1024) {
  const lists = new LRUCache<string, JoinedList>({ maxSize: bytesMax, sizeCalculation: bytesOf });
  return {
    find: (maker: string): JoinedList | undefined => lists.get(maker),
    /** Keeps the list unless the maker has a newer one. Drops the least recently used lists. */
    keep(maker: string, list: JoinedList): void {
      const known = lists.peek(maker);
      if (known === undefined || known.version <= list.version) lists.set(maker, list);
    },
  };
}

function bytesOf({ body, records }: JoinedList): number {
  // A server may keep compressed forms of the body, which together are half as large.
  return Math.ceil(1.5 * body.length) + RECORD_OVERHEAD_BYTES * records.length + LIST_OVERHEAD_BYTES;
}
