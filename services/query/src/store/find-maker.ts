import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from '@makerbook/postgres';

/** @returns whose order it is; null where no history of it is kept. @throws PostgresUnavailable */
export async function findMaker(postgres: Pick<Postgres, 'query'>, orderHash: Hex): Promise<Hex | null> {
  const sql = `select maker from order_history where order_hash = $1 and happened = 'OPENED'`;
  return (await postgres.query<{ maker: Hex }>(sql, [byteaOf(orderHash)]))[0]?.maker ?? null;
}
