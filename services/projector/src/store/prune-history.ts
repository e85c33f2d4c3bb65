import type { Postgres } from '@makerbook/postgres';

/** Deleted rows, and whether none is left. A statement deletes a bounded part, so that no commit waits for it. */
export interface Pruned {
  readonly rows: number;
  readonly isDone: boolean;
}

/** How many offsets of history, or hashes, one statement deletes. */
export const STEP_MAX = 5_000;

/**
 * Deletes the history and the fills of a partition's facts before an offset. It never goes beyond what is committed. It
 * may run beside a commit, and twice at once.
 * @param offsetsMax offsets in one step, however many rows they have
 * @throws PostgresUnavailable
 */
export async function pruneHistory(
  postgres: Pick<Postgres, 'query'>,
  partition: number,
  before: bigint,
  offsetsMax = STEP_MAX,
): Promise<Pruned> {
  const [pruned] = await postgres.query<{ rows: bigint; offsets: bigint }>(pruneHistorySql, [
    partition,
    before,
    offsetsMax,
  ]);
  return { rows: Number(pruned?.rows ?? 0), isDone: Number(pruned?.offsets ?? 0) < offsetsMax };
}

/**
 * Deletes hashes that the fold counts as forgotten: of orders that have been expired for `hashSeconds` by the
 * partition's clock, and of nonces that the maker has passed on the chain. A maker in quarantine keeps all its hashes,
 * because facts about it are still to be folded. It visits each maker of the partition, so call it rarely.
 * @throws PostgresUnavailable
 */
export async function pruneHashes(
  postgres: Pick<Postgres, 'query'>,
  partition: number,
  hashSeconds: number,
  hashesMax = STEP_MAX,
): Promise<Pruned> {
  const sql = 'select forget_hashes($1, $2, $3) as rows';
  const [pruned] = await postgres.query<{ rows: bigint }>(sql, [partition, hashSeconds, hashesMax]);
  const rows = Number(pruned?.rows ?? 0);
  return { rows, isDone: rows < hashesMax };
}

const pruneHistorySql = `
  with step as (
    select history_from as lower, least($2::bigint, next_offset, history_from + $3) as upper
    from projections where partition = $1),
  pruned as (
    delete from order_history using step where partition = $1 and log_offset >= lower and log_offset < upper returning 1),
  pruned_fills as (
    delete from fills using step where partition = $1 and log_offset >= lower and log_offset < upper returning 1),
  moved as (
    update projections set history_from = upper from step where partition = $1 and upper > lower
    returning upper - lower as offsets)
  select (select count(*) from pruned) + (select count(*) from pruned_fills) as rows, coalesce((select offsets from moved), 0) as offsets`;
