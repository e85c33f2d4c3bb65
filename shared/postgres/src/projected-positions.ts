import type { Postgres } from './connect-postgres.js';

/** The offset of the next message that the projection of each partition will fold; a partition that never ran is absent. */
export async function projectedPositions(postgres: Postgres): Promise<Map<number, bigint>> {
  const sql = 'select partition, next_offset from projections';
  const rows = await postgres.query<{ partition: number; next_offset: bigint }>(sql);
  return new Map(rows.map(({ partition, next_offset }) => [partition, next_offset]));
}

/** The newest block that the projection of every one of `partitions` has folded; undefined while one has folded none. */
export async function projectedBlock(
  postgres: Postgres,
  partitions: number,
): Promise<{ readonly number: number; readonly timestamp: number } | undefined> {
  // Both only grow, so the least of each is of the partition that is furthest behind.
  const sql = `select count(block_number) as partitions, min(block_number) as block, min(block_timestamp) as seconds
    from projections`;
  const [row] = await postgres.query<{ partitions: bigint; block: bigint; seconds: bigint }>(sql);
  if (row === undefined || row.partitions < BigInt(partitions)) return undefined;
  return { number: Number(row.block), timestamp: Number(row.seconds) };
}
