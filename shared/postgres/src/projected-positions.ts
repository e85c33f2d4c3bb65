import type { Postgres } from './connect-postgres.js';

/** The offset of the next message that the projection of each partition will fold; a partition that never ran is absent. */
export async function projectedPositions(postgres: Postgres): Promise<Map<number, bigint>> {
  const sql = 'select partition, next_offset from projections';
  const rows = await postgres.query<{ partition: number; next_offset: bigint }>(sql);
  return new Map(rows.map(({ partition, next_offset }) => [partition, next_offset]));
}
