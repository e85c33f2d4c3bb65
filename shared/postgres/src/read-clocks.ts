import type { Postgres } from './connect-postgres.js';

/** How far the rows of a partition have come, and the newest block that they know. */
export interface PartitionClockRow {
  readonly partition: number;
  /** The offset of the next fact to fold. */
  readonly nextOffset: bigint;
  /** Undefined before the first block. `timestamp`: Unix seconds. */
  readonly block: { readonly number: number; readonly timestamp: number } | undefined;
}

/** The clock of each partition that has ever run. Throws PostgresUnavailable. */
export async function readPartitionClocks(postgres: Pick<Postgres, 'query'>): Promise<readonly PartitionClockRow[]> {
  const rows = await postgres.query<ClockRow>(clocksSql, [], 'read partition clocks');
  return rows.map(({ partition, next_offset: nextOffset, block_number: number, block_timestamp: timestamp }) => {
    return {
      partition,
      nextOffset,
      block: number === null ? undefined : { number: Number(number), timestamp: Number(timestamp) },
    };
  });
}

const clocksSql = `
  select partition, next_offset, block_number, block_timestamp from projections order by partition`;

interface ClockRow {
  readonly partition: number;
  readonly next_offset: bigint;
  readonly block_number: bigint | null;
  readonly block_timestamp: bigint;
}
