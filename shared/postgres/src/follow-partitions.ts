import type { Hex } from '@makerbook/contracts-primitives';
import type { Postgres } from './connect-postgres.js';

/** How far the rows of a partition have come, and the newest block that they know. */
export interface PartitionClockRow {
  readonly partition: number;
  /** The offset of the next fact to fold. */
  readonly nextOffset: bigint;
  /** Undefined before the first block. `timestamp`: Unix seconds. */
  readonly block: { readonly number: number; readonly timestamp: number } | undefined;
}

/** The clock of each partition that has ever run. @throws PostgresUnavailable */
export async function readPartitionClocks(postgres: Postgres): Promise<readonly PartitionClockRow[]> {
  const rows = await postgres.query<ClockRow>(clocksSql, [], 'read partition clocks');
  return rows.map(({ partition, next_offset: nextOffset, block_number: number, block_timestamp: timestamp }) => {
    return {
      partition,
      nextOffset,
      block: number === null ? undefined : { number: Number(number), timestamp: Number(timestamp) },
    };
  });
}

const clocksSql = 'select partition, next_offset, block_number, block_timestamp from projections';

interface ClockRow {
  readonly partition: number;
  readonly next_offset: bigint;
  readonly block_number: bigint | null;
  readonly block_timestamp: bigint;
}

/** The makers of a partition to whom something was done, and the offset up to which the rows knew of it. */
export interface TouchedMakers {
  readonly makers: readonly Hex[];
  readonly nextOffset: bigint;
}

/**
 * The makers to whose orders facts of these offsets did something, and those in quarantine, to whom they may have.
 * @throws PostgresUnavailable
 */
export async function readTouchedMakers(
  postgres: Postgres,
  partition: number,
  from: bigint,
  to: bigint,
): Promise<TouchedMakers> {
  const rows = await postgres.query<TouchedRow>(touchedSql, [partition, from, to], 'read touched makers');
  return {
    makers: rows.flatMap(({ maker }) => maker ?? []),
    nextOffset: rows[0]?.next_offset ?? 0n,
  };
}

interface TouchedRow {
  readonly next_offset: bigint;
  readonly maker: Hex | null;
}

const touchedSql = `
  select next_offset, maker from projections left join (
    select maker from order_history where partition = $1 and log_offset >= $2 and log_offset < $3
    union
    select maker from fills where partition = $1 and log_offset >= $2 and log_offset < $3
    union
    select maker from makers where partition = $1 and quarantined_offset is not null) as touched on true
  where partition = $1`;
