import type { Postgres } from './connect-postgres.js';

/** What was deleted, and whether more is left: one statement deletes a bounded part, so that no commit waits for it. */
export interface Pruned {
  readonly rows: number;
  readonly isDone: boolean;
}

const OFFSETS_PER_STEP = 5_000;
const HASHES_PER_STEP = 5_000;

/**
 * Deletes the history of a partition's facts before an offset, but for what shows that a hash was accepted whose order has not
 * expired for `hashSeconds` by the partition's clock. It never goes beyond what is committed, may run beside a commit, and
 * twice at once. A maker in quarantine keeps its hashes: facts about it are still to be folded.
 * @throws PostgresUnavailable
 */
export async function pruneHistory(
  postgres: Pick<Postgres, 'query'>,
  partition: number,
  options: { readonly before: bigint; readonly hashSeconds: number },
): Promise<Pruned> {
  const [pruned] = await postgres.query<{ rows: bigint; offsets: bigint }>(pruneHistorySql, [
    partition,
    options.before,
    options.hashSeconds,
    OFFSETS_PER_STEP,
  ]);
  return { rows: Number(pruned?.rows ?? 0), isDone: Number(pruned?.offsets ?? 0) < OFFSETS_PER_STEP };
}

/**
 * Deletes the hashes that `pruneHistory` has left, and those cancelled before they were accepted, once their orders have
 * expired for `hashSeconds`. It asks for each maker of the partition, so it is for now and then.
 * @throws PostgresUnavailable
 */
export async function pruneHashes(
  postgres: Pick<Postgres, 'query'>,
  partition: number,
  { hashSeconds }: { readonly hashSeconds: number },
): Promise<Pruned> {
  let [rows, isDone] = [0, true];
  for (const sql of [pruneOpenedSql, pruneCancelledSql]) {
    const [pruned] = await postgres.query<{ rows: bigint }>(sql, [partition, hashSeconds, HASHES_PER_STEP]);
    const count = Number(pruned?.rows ?? 0);
    rows += count;
    isDone &&= count < HASHES_PER_STEP;
  }
  return { rows, isDone };
}

const isQuarantined = 'select maker from makers where partition = $1 and quarantined_offset is not null';

const pruneHistorySql = `
  with step as (
    select history_from as lower, least($2::bigint, next_offset, history_from + $4) as upper,
      block_timestamp - $3::bigint as expired
    from projections where partition = $1),
  pruned as (
    delete from order_history using step
    where partition = $1 and log_offset >= lower and log_offset < upper
      and (happened <> 'OPENED' or expires_at_seconds < expired and maker not in (${isQuarantined}))
    returning 1),
  moved as (
    update projections set history_from = upper from step where partition = $1 and upper > lower
    returning upper - lower as offsets)
  select (select count(*) from pruned) as rows, coalesce((select offsets from moved), 0) as offsets`;

const pruneOpenedSql = expiredHashesSql('order_history', `happened = 'OPENED' and log_offset < history_from`);
const pruneCancelledSql = expiredHashesSql('cancelled_hashes', 'true');

/** The index in which a hash is found begins with its maker. */
function expiredHashesSql(table: string, condition: string): string {
  return `
    with pruned as (
      delete from ${table} where ctid = any(array(
        select expired.ctid from projections p join makers m using (partition), lateral (
          select ctid from ${table} h
          where h.maker = m.maker and h.expires_at_seconds < p.block_timestamp - $2::bigint and ${condition}
          limit $3) expired
        where partition = $1 and m.maker not in (${isQuarantined}) limit $3))
      returning 1)
    select count(*) as rows from pruned`;
}
