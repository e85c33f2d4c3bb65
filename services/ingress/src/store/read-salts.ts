import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Query } from '@makerbook/postgres';
import type { FoundBySalt, WantedSalts } from './store.js';

/** Reads what `findBySalts` returns, in one snapshot. */
export async function readSalts(query: Query, { maker, salts, untilMs, lastsMs }: WantedSalts) {
  const given = [byteaOf(maker), salts, untilMs, lastsMs];
  const rows = await query<SaltRow>(saltsSql, given, 'find by salts');
  if (rows[0]?.is_trusted !== true) return 'untrusted';
  return rows.flatMap(({ order_hash: orderHash, salt, expires_at_seconds: expiry, is_cancelling }): FoundBySalt[] =>
    orderHash === null
      ? []
      : [{ orderHash, salt: salt as Hex, expiresAtSeconds: Number(expiry), isCancelling: is_cancelling }],
  );
}

interface SaltRow {
  readonly is_trusted: boolean;
  readonly order_hash: Hex | null;
  readonly salt: string | null;
  readonly expires_at_seconds: bigint | null;
  readonly is_cancelling: boolean;
}

/** The salt of an order by the start of its record, `{"order":{"salt":"0x…"`, without parsing the record. */
export const saltOf = (recordStart: string) => `split_part(${recordStart}, '"', 6)`;

const saltsSql = `
  with named as (
    select order_hash, salt, expires_at_seconds
    from orders cross join lateral (select ${saltOf('record_start')} as salt) as own
    where maker = $1 and accepted_at_ms <= $3::bigint and salt = any ($2::text[])
    union
    select order_hash, salt, expires_at_seconds from in_flight
    where maker = $1 and salt = any ($2::text[]) and until_ms - $4::bigint <= $3::bigint
    union
    select order_hash, salt, expires_at_seconds from hashes
    where maker = $1 and state = 'UNFOLDED' and salt = any ($2::text[]))
  select exists (select from trusted) as is_trusted, order_hash, salt, expires_at_seconds,
    exists (select from cancelling k where k.maker = $1 and k.order_hash = named.order_hash) as is_cancelling
  from (values (1)) as one left join named on true order by order_hash`;
