import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from '@makerbook/postgres';

/** Finds whose order it is. Null if no history of it is kept. @throws PostgresUnavailable */
export async function findMaker(postgres: Pick<Postgres, 'query'>, orderHash: Hex): Promise<Hex | null> {
  const sql = `select maker from order_history where order_hash = $1 and happened = 'OPENED'`;
  return (await postgres.query<{ maker: Hex }>(sql, [byteaOf(orderHash)]))[0]?.maker ?? null;
}

/** Finds the maker's newest orders with the salt: at most `ordersMax`, oldest first. @throws PostgresUnavailable */
export async function findSalted(
  postgres: Pick<Postgres, 'query'>,
  { maker, salt, ordersMax }: { readonly maker: Hex; readonly salt: Hex; readonly ordersMax: number },
): Promise<readonly Hex[]> {
  const newest = `
    select order_hash, max(log_offset) as opened_at from order_history where maker = $1 and salt = $2
    group by order_hash order by opened_at desc limit $3`;
  const sql = `select order_hash from (${newest}) as newest order by opened_at`;
  const rows = await postgres.query<{ order_hash: Hex }>(sql, [byteaOf(maker), salt, ordersMax]);
  return rows.map(({ order_hash }) => order_hash);
}
