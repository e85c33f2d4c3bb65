import type { LimitOrderRecord } from '@makerbook/contracts-http';
import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { type Rules, recordEnd, routableUntilOf } from '@makerbook/domain';
import { LRUCache } from 'lru-cache';
import type { Asker } from './answer-signed.js';
import type { WriteWatch } from './await-writes.js';
import { type JoinedList, joinRecords, type ListRecord } from './join-records.js';
import type { ListChanges, ListedOrder, ListState, MakerList } from './store/read-lists.js';

/** Another one where a record says more than before: a client that has the list of an earlier build does not. */
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
  /** The acceptance from which the next page goes on, if there is one. */
  readonly next: bigint | undefined;
  readonly source: Found['source'];
  /** The number of the maker's own writes that it does not show yet; undefined if unknown. */
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
 * The maker's list with everything in it that was answered to the maker before its state was read: it waits until the
 * read model has that, and counts what is missing after the longest wait. While Postgres is away it is the list that
 * this process holds. Undefined when it holds none.
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
  // The list is kept as it was read: this clock may be ahead for a moment.
  const list = hideExpired(found.list, nowSeconds);
  const { records, next } = takePage(pickRecords(list.records, page.only), page);
  const body = records === list.records ? list.body : joinRecords(list.version, records).body;
  // After a crash of Postgres the rows can be older than they were when their state was read.
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
 * @param read what was read behind that state: Postgres may have lost rows between the two
 */
export function lagOf({ unsettled, isUnsure }: ListState, read?: { readonly isUnsure: boolean }): number | undefined {
  return isUnsure || read?.isUnsure ? undefined : unsettled.length;
}

function hideExpired(list: JoinedList, nowSeconds: number): JoinedList {
  const isOpen = ({ expiresAtSeconds }: ListRecord) => expiresAtSeconds > nowSeconds;
  return list.records.every(isOpen) ? list : joinRecords(list.version, list.records.filter(isOpen));
}

/**
 * Of one version the list is told by how many of its records have not expired, for they expire one after the other; and
 * a page of it by where it begins, how many records it has, and what picks them. Weak: the packed forms of the body
 * have the same.
 */
function etagOf({ version, records: unexpired }: JoinedList, page: readonly ListRecord[], only?: ListFilter): string {
  const asked = only === undefined ? '' : `-${Object.values(only).join('-')}`;
  return `W/"${FORMAT}-${version}-${unexpired.length}-${page[0]?.acceptedOffset ?? 'empty'}-${page.length}${asked}"`;
}

/** Orders that have all of this. */
export interface ListFilter {
  /** Minimal hex. */
  readonly orderSalt: Hex | undefined;
  readonly making: Hex | undefined;
  readonly taking: Hex | undefined;
  readonly status: readonly LimitOrderRecord['status'][] | undefined;
}

/** Picks records; the same array where nothing is asked for. */
function pickRecords<T extends { readonly json: Buffer }>(records: readonly T[], only: ListFilter | undefined) {
  if (only === undefined) return records;
  const { orderSalt, making, taking, status } = only;
  const texts = [orderSalt, making, taking].flatMap((text) => (text === undefined ? [] : `"${text}"`));
  return records.filter(({ json }) => {
    // Most lack what is wanted, and need not be parsed.
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

/** Which part of a list is asked for. */
export interface Page {
  /** Orders that were accepted at this offset or later. */
  readonly from: bigint | undefined;
  readonly ordersMax: number | undefined;
  /** Which orders; all where it is left out. */
  readonly only?: ListFilter | undefined;
}

/**
 * The page of a list, and where the next page begins if there is one. That is a place in the order of acceptance: new
 * orders come behind it, and removed ones do not move it. So no order is skipped or listed twice.
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
