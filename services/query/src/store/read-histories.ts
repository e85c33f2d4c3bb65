import { type Happening, happenings } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from '@makerbook/postgres';

/** How many entries a page looks at. A page of rare kinds may hold fewer than were asked for, or none. */
const SCANNED_MAX = 5_000;
/** How many orders with a salt are looked at. */
export const SALTED_MAX = 1_000;

/** What one fact of the log did to an order, or one fill of an order. */
export type HistoryEntry = {
  readonly partition: number;
  readonly logOffset: bigint;
  readonly orderHash: Hex;
} & (OrderChange | { readonly happened: 'FILLED'; readonly blockNumber: number; readonly logIndex: number });

/** What a fact did to the state of an order. */
export interface OrderChange {
  readonly happened: 'OPENED' | 'CHANGED' | 'WITHHELD' | 'REMOVED';
  /** The order's status afterwards. A removed order keeps its last one. */
  readonly status: 'VALIDATING' | 'ACTIVE' | 'INACTIVE';
  /** Why the order is INACTIVE or was removed, or what it waits for while VALIDATING. */
  readonly reason: string | null;
  /** What was left of the order's making amount. */
  readonly remaining: bigint;
  /** Until when a cap of the maker withheld it, in seconds since 1970. 0: no cap did. */
  readonly cappedUntil: number;
}

/** A row of a history. */
export interface Row {
  readonly partition: number;
  readonly log_offset: bigint;
  readonly order_hash: Hex;
  readonly happened: Happening;
  /** The place of this happening among those of one fact. */
  readonly rank: number;
  readonly status: OrderChange['status'];
  readonly reason: string | null;
  readonly remaining: string;
  readonly capped_until: bigint;
  readonly block_number: bigint;
  readonly log_index: number;
}

export function entryOf(row: Row): HistoryEntry {
  const { partition, order_hash: orderHash, happened, status, reason, log_index: logIndex } = row;
  const at = { partition, logOffset: row.log_offset, orderHash };
  if (happened === 'FILLED') return { ...at, happened, blockNumber: Number(row.block_number), logIndex };
  return { ...at, happened, status, reason, remaining: BigInt(row.remaining), cappedUntil: Number(row.capped_until) };
}

const rankOfHappened = `array_position(array['${happenings.join("', '")}'], happened)`;
export const changes = `
  select partition, log_offset, order_hash, maker, happened, status, reason, remaining, capped_until, ${rankOfHappened} as rank,
    -1::bigint as block_number, -1 as log_index
  from order_history`;
export const filled = `
  select partition, log_offset, order_hash, maker, 'FILLED' as happened, null as status, null as reason, null::numeric as remaining,
    0::bigint as capped_until,
    ${happenings.indexOf('FILLED') + 1} as rank, block_number, log_index
  from fills`;
const inOrder = 'log_offset, order_hash, rank, block_number, log_index';

/** The place of an entry in a maker's history. Without `entry`: before all entries of the fact at the offset. */
export interface HistoryPlace {
  readonly offset: bigint;
  readonly entry?: {
    readonly orderHash: Hex;
    readonly rank: number;
    readonly blockNumber: number;
    readonly logIndex: number;
  };
}

/** Asks for one page of a maker's history. */
export interface HistoryQuery {
  readonly maker: Hex;
  readonly partition: number;
  /** The page begins behind this place. */
  readonly after: HistoryPlace;
  /** Only entries of facts before this offset. Undefined: of all facts. */
  readonly before: bigint | undefined;
  readonly happened: readonly Happening[];
  /** Only orders with this salt: the newest `SALTED_MAX`. Minimal hex. */
  readonly salt?: Hex | undefined;
  readonly entriesMax: number;
}

export interface HistoryPage {
  /** Oldest first. */
  readonly entries: readonly HistoryEntry[];
  /** The next page begins behind this place. */
  readonly next: HistoryPlace;
  /** True if there are more entries already. */
  readonly hasMore: boolean;
  /** The history of facts before this offset is pruned. */
  readonly keptFrom: bigint;
  /** Something may be missing and come later, as in `ListState`, or because a block is folded only in part. */
  readonly isUnsure: boolean;
}

/**
 * Reads one page of what happened to the orders of a maker. It has only facts that are completely folded, and none from
 * a quarantine on. So nothing is added later before a place that was returned.
 * @throws PostgresUnavailable
 */
export async function readMakerHistory(postgres: Postgres, asked: HistoryQuery): Promise<HistoryPage> {
  const { maker, partition, after, before, happened, salt, entriesMax } = asked;
  const { orderHash = '0x', rank = -1, blockNumber = -1, logIndex = -1 } = after.entry ?? {};
  const scannedMax = happened.length === happenings.length ? entriesMax + 1 : SCANNED_MAX;
  const rows = await postgres.query<PageRow>(
    salt === undefined ? readMakerHistorySql : readSaltedHistorySql,
    [
      byteaOf(maker),
      partition,
      after.offset,
      byteaOf(orderHash),
      rank,
      blockNumber,
      logIndex,
      before ?? null,
      happened,
      entriesMax + 1,
      scannedMax,
      ...(salt === undefined ? [] : [salt]),
    ],
    salt === undefined ? 'read maker history' : 'read history of a salt',
  );
  const { folded_to: end, history_from: keptFrom, is_unsure: isUnsure } = rows[0] ?? emptyPage;
  const scanned = rows.flatMap((row) => (row.happened === null ? [] : [row]));
  const found = scanned.filter((row) => row.is_asked);
  const page = found.slice(0, entriesMax);
  const isCut = found.length > entriesMax;
  const last = isCut ? page.at(-1) : scanned.at(-1);
  const hasMore = isCut || last?.number === scannedMax;
  const next =
    hasMore && last !== undefined ? placeOf(last) : { offset: before === undefined || before > end ? end : before };
  return {
    entries: page.map(entryOf),
    // After a crash has undone rows, they end before the place, or at its fact.
    next: !hasMore && next.offset <= after.offset ? after : next,
    hasMore,
    keptFrom,
    isUnsure,
  };
}

type PageRow = { readonly folded_to: bigint; readonly history_from: bigint; readonly is_unsure: boolean } & (
  | (Row & { readonly number: number; readonly is_asked: boolean })
  | { readonly happened: null }
);

const emptyPage: PageRow = { folded_to: 0n, history_from: 0n, is_unsure: true, happened: null };

function placeOf({ log_offset, order_hash, rank, block_number, log_index }: Row): HistoryPlace {
  const entry = { orderHash: order_hash, rank, blockNumber: Number(block_number), logIndex: log_index };
  return { offset: log_offset, entry };
}

/** The place of an entry. What comes behind it has not been read. */
export function placeOfEntry(entry: HistoryEntry): HistoryPlace {
  const { orderHash, happened } = entry;
  const [blockNumber, logIndex] = happened === 'FILLED' ? [entry.blockNumber, entry.logIndex] : [-1, -1];
  return {
    offset: entry.logOffset,
    entry: { orderHash, rank: happenings.indexOf(happened) + 1, blockNumber, logIndex },
  };
}

/** @param isAsked a condition in SQL: the table has a kind that is asked for */
const scanOf = (entries: string, isAsked: string) => `(
  select * from (${entries}
    where ${isAsked} and maker = $1 and log_offset >= $3::bigint and log_offset < coalesce($8::bigint, folded_to)
      and log_offset < folded_to) as e
  where (${inOrder}) > ($3::bigint, $4::bytea, $5::integer, $6::bigint, $7::integer)
  order by ${inOrder} limit $11)`;

/** The same for the orders with a salt, one after the other. */
const scanSalted = (entries: string, isAsked: string) => `(
  select each.* from salted
    cross join lateral ${scanOf(entries, `${isAsked} and order_hash = salted.hash`)} as each
  order by ${inOrder} limit $11)`;

const saltedSql = `salted as materialized (
    select order_hash as hash from order_history where maker = $1 and salt = $12
    group by order_hash order by max(log_offset) desc limit ${SALTED_MAX})`;

const pageSql = (scan: typeof scanOf) => `
  select folded_to, history_from, block_parts > 0 or not exists (select from trusted) as is_unsure, page.*
  from (
      select history_from, block_parts, least(next_offset, (select quarantined_offset from makers where maker = $1)) as folded_to
      from projections where partition = $2) as folded
    left join lateral (
      select *, happened = any ($9::text[]) as is_asked from (
        select *, row_number() over (order by ${inOrder})::integer as number, count(*) over () as scanned from (
          select * from (${scan(changes, "$9::text[] <> array['FILLED']")} union all ${scan(filled, "'FILLED' = any ($9::text[])")}) as both_tables
          order by ${inOrder} limit $11) as entries) as numbered
      where happened = any ($9::text[]) or number = scanned
      order by number limit $10) as page on true
  order by number`;

/** What facts of some offsets did to the orders of some makers. */
export interface StoredNews {
  /** In the order of each maker's history. */
  readonly entries: readonly (HistoryEntry & { readonly maker: Hex })[];
  /** True if there are more entries. */
  readonly isCut: boolean;
  /** The makers in quarantine: their history ends before that of the partition. */
  readonly quarantined: readonly Hex[];
  /** The offset that the rows had reached. */
  readonly nextOffset: bigint;
}

export interface NewsQuery {
  readonly partition: number;
  readonly makers: readonly Hex[];
  /** The first offset. */
  readonly from: bigint;
  /** The offset behind the last. */
  readonly to: bigint;
  readonly entriesMax: number;
}

/** Reads the news of some makers. @throws PostgresUnavailable */
export async function readNews(postgres: Postgres, asked: NewsQuery): Promise<StoredNews> {
  const { partition, makers, from, to, entriesMax } = asked;
  const rows = await postgres.query<NewsRow>(
    readNewsSql,
    [partition, from, to, makers.map(byteaOf), entriesMax + 1],
    'read news',
  );
  const found = rows.flatMap((row) => (row.happened === null ? [] : [{ ...entryOf(row), maker: row.maker }]));
  return {
    entries: found.slice(0, entriesMax),
    isCut: found.length > entriesMax,
    quarantined: rows.flatMap(({ happened, maker }) => (happened === null && maker !== null ? [maker] : [])),
    nextOffset: rows[0]?.next_offset ?? 0n,
  };
}

/** For a maker in quarantine, a row has only the maker's address. */
type NewsRow = { readonly next_offset: bigint } & (
  | (Row & { readonly maker: Hex })
  | { readonly happened: null; readonly maker: Hex | null }
);

const isAsked = 'where partition = $1 and log_offset >= $2 and log_offset < $3 and maker = any ($4::bytea[])';

const readNewsSql = `
  with news as (
    select * from (${changes} ${isAsked} union all ${filled} ${isAsked}) as both_tables
    order by ${inOrder} limit $5),
  quarantined as (
    select maker from makers where partition = $1 and quarantined_offset is not null and maker = any ($4::bytea[]))
  select projections.next_offset, projections.partition, coalesce(news.maker, quarantined.maker) as maker, news.log_offset, news.order_hash,
    news.happened, news.status, news.reason, news.remaining, news.capped_until, news.rank, news.block_number, news.log_index
  from projections left join (news full join quarantined on false) on true
  where projections.partition = $1
  order by ${inOrder}`;

const readMakerHistorySql = pageSql(scanOf);
const readSaltedHistorySql = `with ${saltedSql} ${pageSql(scanSalted)}`;
