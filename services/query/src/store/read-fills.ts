import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from '@makerbook/postgres';
import { entryOf, filled, type HistoryEntry, type Row } from './history-rows.js';

/** A fill of an order, and whose order it is. */
export type StoredFill = Extract<HistoryEntry, { happened: 'FILLED' }> & {
  readonly maker: Hex;
  /** The order had ended here before. */
  readonly isAfterEnd: boolean;
};

/**
 * The newest fills, newest first: those of a maker, or of all makers.
 * @throws PostgresUnavailable
 */
export async function readNewestFills(
  postgres: Pick<Postgres, 'query'>,
  fillsMax: number,
  maker?: Hex,
): Promise<StoredFill[]> {
  const rows = await (maker === undefined
    ? postgres.query<FillRow>(ofAllSql, [fillsMax], 'read newest fills')
    : postgres.query<FillRow>(ofMakerSql, [fillsMax, byteaOf(maker)], 'read newest fills of a maker'));
  return rows.flatMap((row) => {
    const entry = entryOf(row);
    return entry.happened === 'FILLED' ? [{ ...entry, maker: row.maker, isAfterEnd: row.is_after_end }] : [];
  });
}

type FillRow = Row & { readonly maker: Hex; readonly is_after_end: boolean };

const newest = (whose: string) =>
  `${filled} where ${whose} order by log_offset desc, block_number desc, log_index desc limit $1`;

const told = `
  select fill.*, exists (
    select from order_history as ended
    where ended.order_hash = fill.order_hash and ended.log_offset < fill.log_offset and ended.happened = 'REMOVED') as is_after_end`;

const inOrder = 'order by block_number desc, log_index desc limit $1';

const ofMakerSql = `${told} from (${newest('maker = $2')}) as fill ${inOrder}`;

// Of each partition, by the index of its facts.
const ofAllSql = `${told}
  from (select fill.* from projections, lateral (${newest('fills.partition = projections.partition')}) as fill ${inOrder}) as fill
  ${inOrder}`;

/** @returns whose order it is; null where no history of it is kept. @throws PostgresUnavailable */
export async function findMaker(postgres: Pick<Postgres, 'query'>, orderHash: Hex): Promise<Hex | null> {
  const sql = `select maker from order_history where order_hash = $1 and happened = 'OPENED'`;
  return (await postgres.query<{ maker: Hex }>(sql, [byteaOf(orderHash)]))[0]?.maker ?? null;
}
