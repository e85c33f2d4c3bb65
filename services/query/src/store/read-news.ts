import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from '@makerbook/postgres';
import { changes, entryOf, filled, type HistoryEntry, inOrder, type Row } from './history-rows.js';

/** What facts of some offsets did to the orders of some makers. */
export interface News {
  /** In the order of each maker's history. */
  readonly entries: readonly (HistoryEntry & { readonly maker: Hex })[];
  /** True if there are more entries. */
  readonly isCut: boolean;
  /** The makers of them whose history ends before its partition, because they are in quarantine. */
  readonly quarantined: readonly Hex[];
  /** The offset up to which the rows knew of it. */
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

/** @throws PostgresUnavailable */
export async function readNews(postgres: Postgres, asked: NewsQuery): Promise<News> {
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

/** Of a maker in quarantine only its address. */
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
    news.happened, news.status, news.reason, news.remaining, news.capped_until, news.place, news.block_number, news.log_index
  from projections left join (news full join quarantined on false) on true
  where projections.partition = $1
  order by ${inOrder}`;
