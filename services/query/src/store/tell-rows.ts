import type { Hex } from '@makerbook/contracts-primitives';
import type { Exits } from '@makerbook/domain';
import { byteaOf, type Postgres } from '@makerbook/postgres';

/** What operators ask of a maker's row. */
export interface MakerRow {
  readonly open_orders: number;
  /** Null: it is not in quarantine. */
  readonly quarantine_reason: string | null;
  readonly exits: Partial<Exits>;
}

/** @returns null where the log has told nothing of the maker. @throws PostgresUnavailable */
export async function readMaker(postgres: Pick<Postgres, 'query'>, maker: Hex): Promise<MakerRow | null> {
  const sql = 'select open_orders, quarantine_reason, exits from makers where maker = $1';
  return (await postgres.query<MakerRow>(sql, [byteaOf(maker)]))[0] ?? null;
}

/** @returns whose order it is; null where no history of it is kept. @throws PostgresUnavailable */
export async function findMaker(postgres: Pick<Postgres, 'query'>, orderHash: Hex): Promise<Hex | null> {
  const sql = `select maker from order_history where order_hash = $1 and happened = 'OPENED'`;
  return (await postgres.query<{ maker: Hex }>(sql, [byteaOf(orderHash)]))[0]?.maker ?? null;
}
