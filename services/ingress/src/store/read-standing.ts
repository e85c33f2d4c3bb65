import type { Address, Hex } from '@makerbook/contracts-primitives';
import {
  type Exits,
  type HashRows,
  type HashStanding,
  type Instruction,
  type MakerStanding,
  noExits,
  type Tokens,
} from '@makerbook/domain';
import { byteaOf, encodeArray, type Query } from '@makerbook/postgres';
import { encodeHashes, encodeMakers } from './encode-columns.js';
import { saltOf } from './read-salts.js';
import { budgetKey, type FoundRows, type Reading, type Wanted } from './store.js';

/** Reads what requests are decided by. One statement is one snapshot. */
export async function readStanding(query: Query, wanted: Wanted): Promise<Reading> {
  const { makers, isPlacing } = wanted;
  const { sql, name } = standingSql(wanted);
  const values = [
    encodeMakers(makers),
    ...(isPlacing ? [makers.map(({ countExpiredBeyond }) => countExpiredBeyond), encodeHashes(wanted.hashes)] : []),
    ...(wanted.replaced.length > 0 ? [encodeArray('bytea', wanted.replaced)] : []),
  ];
  const rows = await query<Row>(sql, values, name);
  return readingOf(makers, rows, hashesOf(wanted, rows));
}

function hashesOf(wanted: Wanted, rows: readonly Row[]): ReadonlyMap<Hex, HashStanding> {
  const hashes = new Map<Hex, HashStanding>();
  const ownerOf = new Map(wanted.hashes.map(({ orderHash, maker }) => [orderHash, maker]));
  const note = (bare: string, more: HashStanding, maker?: Hex) => {
    const orderHash: Hex = `0x${bare}`;
    // Skip what other makers have of the hash: anybody may cancel a hash of another maker.
    if (maker !== undefined && ownerOf.get(orderHash) !== maker) return;
    hashes.set(orderHash, { ...hashes.get(orderHash), ...more });
  };
  const fieldsOf = (texts: readonly string[] | null | undefined) => (texts ?? []).map((text) => text.split(' '));
  const [first] = rows;
  for (const [hash = '', maker, state] of fieldsOf(first?.known)) {
    note(hash, { remembered: state as NonNullable<HashStanding['remembered']> }, `0x${maker}`);
  }
  for (const [hash = '', time, maker] of fieldsOf(first?.flying)) {
    if (maker === undefined) note(hash, { notedUntilMs: Number(time) });
    else note(hash, { inFlight: { expiresAtSeconds: Number(time) } });
  }
  for (const [hash = '', making = '0', left = '0', expiresAt] of fieldsOf(first?.amounts)) {
    const amounts = { making: BigInt(making), remaining: BigInt(left) };
    note(hash, { order: { ...amounts, expiresAtSeconds: Number(expiresAt) } });
  }
  for (const [index, { cancelled }] of rows.entries()) {
    for (const hash of cancelled ?? []) note(hash, { isCancelling: true }, wanted.makers[index]?.maker);
  }
  return hashes;
}

function readingOf(makers: Wanted['makers'], rows: readonly Row[], hashes: ReadonlyMap<Hex, HashStanding>): Reading {
  const versions = new Map<string, number>();
  const standings = new Map<Address, MakerStanding>();
  let nowMs = 0;
  for (const [index, row] of rows.entries()) {
    const maker = makers[index]?.maker ?? '0x';
    if (row.orders_version !== null) versions.set(budgetKey(maker, 'orders'), Number(row.orders_version));
    if (row.cancels_version !== null) versions.set(budgetKey(maker, 'cancels'), Number(row.cancels_version));
    standings.set(maker, standingOf(row));
    const times = [row.now_ms, row.since_ms, row.orders_at_ms, row.cancels_at_ms, row.clock_ms];
    nowMs = Math.max(nowMs, ...times.map((time) => Number(time ?? 0)));
  }
  const trustedSinceMs = rows[0]?.since_ms ?? undefined;
  return {
    standing: {
      trustedSinceMs: trustedSinceMs === undefined ? undefined : Number(trustedSinceMs),
      makers: standings,
      hashes,
    },
    versions,
    clockMs: Number(rows[0]?.now_ms ?? 0),
    nowMs,
  };
}

function standingOf(row: Row): MakerStanding {
  const tokens = (left: number | null, atMs: bigint | null): Tokens => {
    return { left: left ?? undefined, atMs: Number(atMs ?? 0) };
  };
  return {
    orders: tokens(row.orders_left, row.orders_at_ms),
    cancels: tokens(row.cancels_left, row.cancels_at_ms),
    nonce: BigInt(row.nonce ?? 0),
    isQuarantined: row.is_quarantined === true,
    open: Number(row.open ?? 0),
    expired: Number(row.expired ?? 0),
    inFlight: Number(row.in_flight ?? 0),
    remembered: Number(row.remembered ?? 0),
    onTheirWay: Number(row.on_their_way ?? 0),
    exits: { ...noExits, ...row.exits },
    instructions: row.instructions ?? [],
    listed: (row.listed ?? []).map((each) => {
      const [orderHash = '', making = '', acceptedAtMs, taking = ''] = each.split(' ');
      return {
        orderHash: `0x${orderHash}`,
        making: `0x${making}`,
        acceptedAtMs: Number(acceptedAtMs),
        taking: taking as Hex,
      };
    }),
  };
}

/** A column that is not asked for is undefined. */
interface Row {
  readonly now_ms: bigint;
  readonly since_ms: bigint | null;
  readonly clock_ms: bigint | null;
  readonly orders_version: bigint | null;
  readonly orders_left: number | null;
  readonly orders_at_ms: bigint | null;
  readonly cancels_version: bigint | null;
  readonly cancels_left: number | null;
  readonly cancels_at_ms: bigint | null;
  readonly nonce?: string | null;
  readonly is_quarantined?: boolean;
  readonly open?: bigint;
  readonly expired?: bigint;
  readonly in_flight?: bigint;
  readonly remembered?: bigint;
  readonly on_their_way?: bigint;
  readonly exits?: Partial<Exits> | null;
  readonly instructions?: readonly Instruction[];
  readonly listed?: readonly string[];
  readonly cancelled?: readonly string[];
  readonly known?: readonly string[] | null;
  readonly flying?: readonly string[] | null;
  readonly amounts?: readonly string[] | null;
}

/**
 * Builds a statement with the columns and joins that requests need. Each variant has its name, so that a connection
 * does not parse a known statement again. Every look-up is by an index.
 */
function standingSql({ isPlacing, isInstructing, isCancellingAll, replaced }: Wanted) {
  const isReplacing = replaced.length > 0;
  const needs = { isPlacing, isInstructing, isCancellingAll, isReplacing };
  const name = Object.values(needs).map(Number).join('');
  const known = statements.get(name);
  if (known !== undefined) return { sql: known, name: `standing ${name}` };
  const needsMaker = isPlacing || isInstructing;
  const columns = [
    'clock.ms as now_ms, (select since_ms from trusted) as since_ms, p.clock_ms',
    'bo.version as orders_version, bo.tokens as orders_left, bo.at_ms as orders_at_ms',
    'bc.version as cancels_version, bc.tokens as cancels_left, bc.at_ms as cancels_at_ms',
    ...(needsMaker ? ['m.quarantined_offset is not null as is_quarantined'] : []),
    ...(isPlacing ? [placingSql] : []),
    ...(isReplacing ? [replacingSql] : []),
    ...(isInstructing ? [instructingSql] : []),
    ...(isCancellingAll ? [listedSql] : []),
  ];
  const given = isPlacing ? 'unnest($1::bytea[], $2::bigint[]) with ordinality as r (maker, beyond, at)' : ofMakers;
  const sql = `select ${columns.join(',\n')}
    from (select (extract(epoch from statement_timestamp()) * 1000)::bigint as ms) as clock, ${given}
      left join budgets bo on bo.maker = r.maker and not bo.of_cancels
      left join budgets bc on bc.maker = r.maker and bc.of_cancels
      left join makers m on m.maker = r.maker
      left join projections p on p.partition = m.partition
      ${isPlacing ? countsSql : ''}
    order by r.at`;
  statements.set(name, sql);
  return { sql, name: `standing ${name}` };
}

const statements = new Map<string, string>();

const ofMakers = 'unnest($1::bytea[]) with ordinality as r (maker, at)';

// Count in one snapshot: the fold counts an order in the commit that deletes its row in flight, and forgets a hash only
// after it has written the nonce that passes it. The hashes are looked up once, for all makers.
const placingSql = `m.nonce, coalesce(m.open_orders, 0) - c.open as open, f.orders as in_flight,
    coalesce(m.remembered, 0) as remembered, f.placed + c.unplaced as on_their_way,
    case when coalesce(m.open_orders, 0) - c.open + f.orders > r.beyond then (
      select count(*) from orders
      where maker = r.maker and expires_at_seconds <= clock.ms / 1000 and order_hash <> all (c.hashes)) else 0 end as expired,
    array(select encode(hash, 'hex') from unnest(c.hashes) as u (hash) where hash = any ($3::bytea[])) as cancelled,
    case r.at when 1 then array(
      select concat_ws(' ', encode(order_hash, 'hex'), encode(maker, 'hex'), state) from hashes
      where order_hash = any ($3::bytea[])) end as known,
    case r.at when 1 then array(
      select concat_ws(' ', encode(order_hash, 'hex'), coalesce(expires_at_seconds, until_ms), encode(maker, 'hex')) from in_flight
      where order_hash = any ($3::bytea[])) end as flying`;

const countsSql = `
      cross join lateral (
        select coalesce(array_agg(k.order_hash), '{}') as hashes, count(o.order_hash) as open,
          count(*) filter (
            where o.order_hash is null
              and not exists (select from hashes h where h.order_hash = k.order_hash and h.maker = r.maker)
              and not exists (select from in_flight g where g.order_hash = k.order_hash and g.maker = r.maker)) as unplaced
        from (select distinct order_hash from cancelling where maker = r.maker) as k
          left join orders o on o.order_hash = k.order_hash and o.maker = r.maker) as c
      cross join lateral (
        select count(*) as placed,
          count(*) filter (where expires_at_seconds > clock.ms / 1000 and order_hash <> all (c.hashes)) as orders
        from in_flight where maker = r.maker) as f`;

const replacingSql = `
    case r.at when 1 then array(
      select concat_ws(' ', encode(order_hash, 'hex'), making_amount, remaining, expires_at_seconds) from orders
      where order_hash = any ($4::bytea[])) end as amounts`;

const instructingSql = `m.exits,
    (select coalesce(json_agg(instruction), '[]') from cancelling where maker = r.maker and instruction is not null) as instructions`;

const listedSql = `
    array(
      select concat_ws(' ', encode(o.order_hash, 'hex'), encode(making_token, 'hex'), accepted_at_ms,
        (record_start || '}')::json -> 'order' -> 'taking' ->> 'token')
      from orders o
      where o.maker = r.maker
        and not exists (select from cancelling k where k.maker = o.maker and k.order_hash = o.order_hash)) as listed`;

/** Reads what `findHashes` of the store returns. */
export async function findHashes(query: Query, orderHashes: readonly Hex[]): Promise<FoundRows> {
  const rows = await query<HashRow>(hashesSql, [encodeArray('bytea', orderHashes)], 'find hashes');
  const orderOf = (maker: Hex | null, salt: string | null, expiresAtSeconds: bigint | null) => {
    if (maker === null || salt === null) return undefined;
    return { maker, salt: salt as Hex, expiresAtSeconds: Number(expiresAtSeconds) };
  };
  const found = rows.map((row): HashRows => {
    const open = orderOf(row.open_maker, row.open_salt, row.open_expiry);
    const inFlight = orderOf(row.flying_maker, row.flying_salt, row.flying_expiry);
    const unfolded = orderOf(row.known_maker, row.known_salt, row.known_expiry);
    return {
      ...(open && { open }),
      ...(inFlight && { inFlight }),
      ...(unfolded && { unfolded }),
      isAccepted: row.known_maker !== null,
      ...(row.told_until_ms !== null && { notedUntilMs: Number(row.told_until_ms) }),
    };
  });
  const sinceMs = rows[0]?.since_ms ?? null;
  return {
    nowMs: Math.max(Number(rows[0]?.now_ms ?? 0), Number(sinceMs ?? 0)),
    trustedSinceMs: sinceMs === null ? undefined : Number(sinceMs),
    rows: found,
  };
}

interface HashRow {
  readonly now_ms: bigint;
  readonly since_ms: bigint | null;
  readonly open_maker: Hex | null;
  readonly open_salt: string | null;
  readonly open_expiry: bigint | null;
  readonly flying_maker: Hex | null;
  readonly flying_salt: string | null;
  readonly flying_expiry: bigint | null;
  readonly told_until_ms: bigint | null;
  readonly known_maker: Hex | null;
  readonly known_salt: string | null;
  readonly known_expiry: bigint | null;
}

// Only an UNFOLDED hash has a salt of its own.
const hashesSql = `
  select (extract(epoch from statement_timestamp()) * 1000)::bigint as now_ms, (select since_ms from trusted) as since_ms,
    o.maker as open_maker, ${saltOf('o.record_start')} as open_salt, o.expires_at_seconds as open_expiry,
    f.maker as flying_maker, f.salt as flying_salt, f.expires_at_seconds as flying_expiry,
    case when f.maker is null then f.until_ms end as told_until_ms,
    h.maker as known_maker, h.salt as known_salt, h.expires_at_seconds as known_expiry
  from unnest($1::bytea[]) with ordinality as u (order_hash, at)
    left join orders o on o.order_hash = u.order_hash
    left join in_flight f on f.order_hash = u.order_hash
    left join hashes h on h.order_hash = u.order_hash and h.state <> 'CANCELLED'
  order by u.at`;

/** Locks the makers' rows until the transaction ends, in the order of their addresses. */
export async function lockMakers(query: Query, makers: readonly Address[]): Promise<void> {
  await query(`set local lock_timeout = '1s'`);
  const sql = 'select from budgets where maker = any ($1::bytea[]) order by maker, of_cancels for update';
  await query(sql, [makers.map(byteaOf)], 'lock makers');
}
