import { encodeArray, type Postgres, PostgresUnavailable, type Query } from '@makerbook/postgres';
import { readSalts } from './read-salts.js';
import { findHashes, lockMakers, readStanding } from './read-standing.js';
import type { ReadAndWrite, Store } from './store.js';
import { writeDecisions } from './write-decisions.js';

const FORGOTTEN_AT_ONCE = 20_000;

/** Opens the store in Postgres by which ingress decides. Only `alone` needs a transaction. */
export function openStore(postgres: Pick<Postgres, 'query' | 'transaction'>): Store {
  const readAndWrite = (query: Query): ReadAndWrite => ({
    read: (wanted) => readStanding(query, wanted),
    write: (reading, groups) => writeDecisions(query, reading, groups),
  });
  return {
    ...readAndWrite(postgres.query),
    alone: (makers, work) =>
      postgres.transaction(async (query) => {
        await lockMakers(query, makers);
        return work(readAndWrite(query));
      }),
    findHashes: (orderHashes) => findHashes(postgres.query, orderHashes),
    findBySalts: (wanted) => readSalts(postgres.query, wanted),
    async wereNeverInBook(orderHashes) {
      return (await postgres.query(inBookSql, [encodeArray('bytea', orderHashes)], 'was in book')).length === 0;
    },
    async note(orderHashes, trustedSinceMs, nowMs) {
      await postgres.query(noteSql, [encodeArray('bytea', orderHashes), trustedSinceMs, nowMs], 'note');
    },
    async release(requestId, placed, marked) {
      const hashes = [placed, marked].map((own) => encodeArray('bytea', own));
      await postgres.query(releaseSql, [...hashes, requestId], 'release');
    },
    async forgetNotes(olderThanMs) {
      for (;;) {
        const forgotten = await postgres.query(forgetSql, [olderThanMs], 'forget notes');
        if (forgotten.length < FORGOTTEN_AT_ONCE) return;
      }
    },
    async beginTrust() {
      const [row] = await postgres.query<{ since_ms: bigint; is_trusted: boolean }>(beginTrustSql);
      if (row === undefined) throw new PostgresUnavailable('another process notes the same: try again');
      return { sinceMs: Number(row.since_ms), isTrusted: row.is_trusted };
    },
    async endTrust(sinceMs) {
      const sql = 'update trust set is_trusted = true where started_at = pg_postmaster_start_time() and since_ms = $1';
      await postgres.query(sql, [sinceMs]);
    },
  };
}

const clockSql = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

// Insert in the order of the hashes, so that two statements never wait for each other. A note holds for requests that
// were received before it was there. A millisecond is added, because times are rounded.
const noteSql = `
  insert into in_flight as f (order_hash, until_ms)
  select u.order_hash, greatest($3::bigint, ${clockSql} + 1) from unnest($1::bytea[]) as u (order_hash)
  where exists (select from trusted where since_ms = $2::bigint) order by u.order_hash
  on conflict (order_hash) do update set until_ms = greatest(f.until_ms, excluded.until_ms) where f.maker is null`;

// An order enters the book only once it is judged. If its opening is pruned, nobody knows what came before.
const inBookSql = `
  select from order_history where order_hash = any ($1::bytea[])
  group by order_hash having bool_or(status <> 'VALIDATING') or not bool_or(happened = 'OPENED') limit 1`;

const releaseSql = `
  with placed as (delete from in_flight where order_hash = any ($1::bytea[]) and request_id = $3)
  delete from cancelling where order_hash = any ($2::bytea[]) and request_id = $3`;

// Anybody can cause a hundred thousand notes, so limit each statement. The time in a query of its own is one value,
// which the index can look up.
const forgetSql = `
  delete from in_flight where order_hash = any (array(
    select order_hash from in_flight where partition is null and until_ms < (select ${clockSql} - $1::bigint)
    order by until_ms limit ${FORGOTTEN_AT_ONCE})) and partition is null
  returning 1`;

// What was in flight survives a clean restart. A crash empties this table too, and only then the time begins again.
const beginTrustSql = `
  with begun as (
    insert into trust (started_at, table_id, since_ms, is_trusted)
    values (pg_postmaster_start_time(), 'trust'::regclass, ${clockSql}, false)
    on conflict (is_only) do update
    set started_at = excluded.started_at, table_id = excluded.table_id, is_trusted = false
    where (trust.started_at, trust.table_id) <> (excluded.started_at, excluded.table_id)
    returning since_ms, is_trusted)
  select since_ms, is_trusted from begun
  union all
  select since_ms, is_trusted from trust
  where started_at = pg_postmaster_start_time() and table_id = 'trust'::regclass and not exists (select from begun)`;
