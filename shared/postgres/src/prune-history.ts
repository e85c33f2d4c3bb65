import type { Postgres } from './connect-postgres.js';

/** What was deleted, and whether more is left: one statement deletes a bounded part, so that no commit waits for it. */
export interface Pruned {
  readonly rows: number;
  readonly isDone: boolean;
}

const OFFSETS_PER_STEP = 5_000;
const HASHES_PER_STEP = 5_000;

/**
 * Deletes the history of a partition's facts before an offset. It never goes beyond what is committed, may run beside a commit,
 * and twice at once.
 * @throws PostgresUnavailable
 */
export async function pruneHistory(
  postgres: Pick<Postgres, 'query'>,
  partition: number,
  before: bigint,
): Promise<Pruned> {
  const [pruned] = await postgres.query<{ rows: bigint; offsets: bigint }>(pruneHistorySql, [
    partition,
    before,
    OFFSETS_PER_STEP,
  ]);
  return { rows: Number(pruned?.rows ?? 0), isDone: Number(pruned?.offsets ?? 0) < OFFSETS_PER_STEP };
}

/**
 * Deletes hashes that the fold counts as forgotten: of orders that have been expired for `hashSeconds` by the partition's
 * clock, and of nonces that their maker's has passed on the chain. A maker in quarantine keeps all of them: facts about it are
 * still to be folded. It asks for each maker of the partition, so it is for now and then.
 * @throws PostgresUnavailable
 */
export async function pruneHashes(
  postgres: Pick<Postgres, 'transaction'>,
  partition: number,
  hashSeconds: number,
): Promise<Pruned> {
  let [rows, isDone] = [0, true];
  for (const [condition, ...values] of [[isExpiredSql, hashSeconds], [isPassedSql]] as const) {
    const count = await postgres.transaction(async (query) => {
      // As a commit does: so neither waits for rows of the other, and what is read below is from after it.
      await query('select from projections where partition = $1 for update', [partition]);
      const [pruned] = await query<{ rows: string }>(pruneHashesSql(condition), [
        partition,
        HASHES_PER_STEP,
        ...values,
      ]);
      return Number(pruned?.rows ?? 0);
    });
    rows += count;
    isDone &&= count < HASHES_PER_STEP;
  }
  return { rows, isDone };
}

const pruneHistorySql = `
  with step as (
    select history_from as lower, least($2::bigint, next_offset, history_from + $3) as upper
    from projections where partition = $1),
  pruned as (
    delete from order_history using step where partition = $1 and log_offset >= lower and log_offset < upper returning 1),
  moved as (
    update projections set history_from = upper from step where partition = $1 and upper > lower
    returning upper - lower as offsets)
  select (select count(*) from pruned) as rows, coalesce((select offsets from moved), 0) as offsets`;

const isExpiredSql = 'h.expires_at_seconds <= p.block_timestamp - $3::bigint';
const isPassedSql = 'm.nonce > 0 and h.nonce < m.nonce';

/** By `hashes_of_maker`. */
function pruneHashesSql(condition: string): string {
  return `
    with pruned as (
      delete from hashes where ctid = any(array(
        select forgotten.ctid from projections p join makers m using (partition), lateral (
          select ctid from hashes h where h.maker = m.maker and ${condition} limit $2) forgotten
        where partition = $1 and m.quarantined_offset is null limit $2))
      returning maker),
    counted as (select maker, count(*) as hashes from pruned group by maker),
    forgotten as (
      update makers set remembered = remembered - hashes from counted where makers.maker = counted.maker
      returning hashes)
    select coalesce(sum(hashes), 0) as rows from forgotten`;
}
