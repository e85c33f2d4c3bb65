import type { Hex } from '@makerbook/contracts-primitives';
import type { MakerList, Positions, ProjectionWatch } from '@makerbook/postgres';
import { joinRecords, type ListFill, type ListReading } from '@makerbook/redis';
import { createXXHash128 } from 'hash-wasm';
import { type Page, takePage } from './take-page.js';

/** Sources of a list. One that is away returns undefined: only a bug throws. */
export interface ListSources {
  readonly readCached: (maker: Hex, partition: number, nowSeconds: number) => Promise<ListReading | undefined>;
  /** A replica serves it only where it is not behind `neededPos`; without a position the primary does. */
  readonly readStored: (maker: Hex, partition: number, neededPos: bigint | undefined) => Promise<MakerList | undefined>;
  /** The end of the log's partition as of some moment after the call began. */
  readonly readEnd: (partition: number) => Promise<bigint | undefined>;
  readonly watch: ProjectionWatch;
  /** Offers a list to Redis without waiting. */
  readonly offerToCache: (fill: ListFill) => void;
}

/** A list as it is served. */
export interface Listing {
  /** A JSON array of records (Interface 2.3), oldest acceptance first. */
  readonly body: Buffer;
  /** A hash of the body: the same list has the same, from whichever source and instance it comes. */
  readonly etag: string;
  /** Of the next page, where there is one. */
  readonly nextCursor: string | undefined;
  readonly source: 'redis' | 'postgres';
  /** Records of the log that it does not reflect: 0n when it is current, undefined when the end of the log could not be read. */
  readonly lag: bigint | undefined;
}

/** What a list is begun with: the end of the log's partition and the list in Redis, undefined where that is away. */
export interface Newest {
  readonly maker: Hex;
  readonly partition: number;
  readonly nowSeconds: number;
  readonly end: bigint | undefined;
  readonly cached: ListReading | undefined;
}

/** Reads both at once. */
export async function readNewest(
  maker: Hex,
  partition: number,
  sources: ListSources,
  nowSeconds: number,
): Promise<Newest> {
  const [end, cached] = await Promise.all([
    sources.readEnd(partition),
    sources.readCached(maker, partition, nowSeconds),
  ]);
  return { maker, partition, nowSeconds, end, cached };
}

/**
 * The maker's list with everything in it that was answered to the maker before `newest` was read: it waits until the
 * projection has reached that end of the log, at most `waitMsMax`; otherwise `lag` is how far behind it is. From
 * Redis, else from Postgres; from the one that is present when neither gets there. Undefined when both are away.
 * @param options.page of the list to serve
 */
export async function readList(
  newest: Newest,
  sources: ListSources,
  { waitMsMax, page }: { waitMsMax: number; page: Page },
): Promise<Listing | undefined> {
  const { maker, partition, nowSeconds, end } = newest;
  let { cached } = newest;
  let positions: Positions | undefined;
  if (end !== undefined && !reaches(cached, end)) {
    positions = await sources.watch.awaitPosition(partition, end, waitMsMax);
    cached = await sources.readCached(maker, partition, nowSeconds);
  }
  if (cached?.kind === 'list' && (end === undefined || cached.pos >= end || !isBehind(cached.pos, positions))) {
    return serveCached(cached, page, end);
  }
  const stored = await sources.readStored(maker, partition, end);
  if (stored === undefined) return cached?.kind === 'list' ? serveCached(cached, page, end) : undefined;
  if (cached?.kind === 'cold') {
    const { epoch } = cached;
    sources.offerToCache({ maker, partition, epoch, snapshotPos: stored.nextOffset, orders: stored.records });
  }
  const unexpired = stored.records.filter(({ expiresAtSeconds }) => expiresAtSeconds > nowSeconds);
  const { records, nextCursor } = takePage(unexpired, page);
  const body = Buffer.from(`[${records.map(({ json }) => json).join(',')}]`);
  return { body, etag: etagOf(body), nextCursor, source: 'postgres', lag: lagOf(stored.nextOffset, end) };
}

function serveCached(cached: Extract<ListReading, { kind: 'list' }>, page: Page, end: bigint | undefined): Listing {
  const { list, pos } = cached;
  const { records, nextCursor } = takePage(list.records, page);
  const body = records === list.records ? list.body : joinRecords(records).body;
  return { body, etag: etagOf(body), nextCursor, source: 'redis', lag: lagOf(pos, end) };
}

/** Of the bodies that are held in memory. */
const etags = new WeakMap<Buffer, string>();
// No cryptographic hash: of 1,000 orders that takes longer than sending them. Who could forge a list answers for it alone.
const hasher = await createXXHash128();

/** Weak: the packed forms of the body have the same. */
function etagOf(body: Buffer): string {
  let etag = etags.get(body);
  if (etag === undefined) {
    etag = `W/"${hasher.init().update(body).digest()}"`;
    etags.set(body, etag);
  }
  return etag;
}

function reaches(cached: ListReading | undefined, end: bigint): boolean {
  return cached !== undefined && cached.kind !== 'forgotten' && cached.pos >= end;
}

/** Whether Postgres may be ahead of a list at `pos`: its position is greater or unknown. */
function isBehind(pos: bigint, positions: Positions | undefined): boolean {
  return positions?.store === undefined || positions.store > pos;
}

function lagOf(pos: bigint, end: bigint | undefined): bigint | undefined {
  if (end === undefined) return undefined;
  return end > pos ? end - pos : 0n;
}
