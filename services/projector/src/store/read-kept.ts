import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Instruction, UNKNOWN_EXPIRY_SECONDS } from '@makerbook/domain';
import type { Postgres, Query } from '@makerbook/postgres';

/** Two schemas of one database: the kept rows, and the rows that the restored log leads to. */
export interface Schemas {
  readonly kept: string;
  readonly restored: string;
}

/** A hash whose order has ended, or was cancelled before it came. */
export interface GoneHash {
  readonly orderHash: Hex;
  readonly maker: Address;
  readonly expiresAtSeconds: number;
}

const ROWS_PER_FETCH = 1_000;

/** All makers of a partition that have rows in one of the schemas. */
export async function readMakerNames(
  { query }: Pick<Postgres, 'query'>,
  partition: number,
  { kept, restored }: Schemas,
): Promise<Address[]> {
  const sql = `select maker from ${kept}.makers where partition = $1
    union select maker from ${restored}.makers where partition = $1 order by maker`;
  const rows = await query<{ maker: Address }>(sql, [partition]);
  return rows.map(({ maker }) => maker);
}

/** Instructions of makers that were answered, or will be, and are not folded, in the order of their signatures. */
export async function readPending(
  { query }: Pick<Postgres, 'query'>,
  partition: number,
): Promise<{ readonly maker: Address; readonly instruction: Instruction }[]> {
  const sql = `select maker, instruction from cancelling where partition = $1 and instruction is not null
    order by (instruction->>'issuedAtMs')::bigint`;
  return query<{ maker: Address; instruction: Instruction }>(sql, [partition]);
}

/**
 * Hashes that are gone by the kept rows, and that the restored rows do not know, or hold open. Also hashes whose
 * cancellation was answered, or will be, and is not folded: their order may not be folded either. Leaves out open
 * orders that the chain ends again, but keeps an order whose nonce the chain may still reach.
 */
export async function* readGone(
  query: Query,
  partition: number,
  { kept, restored }: Schemas,
): AsyncGenerator<readonly GoneHash[]> {
  const sql = `declare gone no scroll cursor for
    select h.order_hash, h.maker, h.expires_at_seconds from ${kept}.hashes h
    where h.partition = ${partition} and h.state <> 'UNFOLDED'
      and (not exists (select from ${kept}.orders o where o.order_hash = h.order_hash and o.maker = h.maker)
        or exists (select from ${kept}.cancelling c where c.order_hash = h.order_hash and c.maker = h.maker))
      and case when exists (select from ${restored}.orders o where o.order_hash = h.order_hash and o.maker = h.maker)
        then not exists (select from ${kept}.order_history e
          where e.order_hash = h.order_hash and e.happened = 'REMOVED' and e.reason not in ('CANCELLED', 'NONCE_CHANGED'))
        else not exists (select from ${restored}.hashes r where r.order_hash = h.order_hash and r.maker = h.maker) end
    union
    select c.order_hash, c.maker, coalesce(o.expires_at_seconds, f.expires_at_seconds, ${UNKNOWN_EXPIRY_SECONDS})
    from ${kept}.cancelling c
      left join ${kept}.in_flight f on f.order_hash = c.order_hash and f.maker = c.maker
      left join ${restored}.orders o on o.order_hash = c.order_hash and o.maker = c.maker
    where c.partition = ${partition} and c.instruction is null
      and not exists (select from ${kept}.hashes h
        where h.order_hash = c.order_hash and h.maker = c.maker and h.state <> 'UNFOLDED')
      and (o.order_hash is not null
        or not exists (select from ${restored}.hashes r where r.order_hash = c.order_hash and r.maker = c.maker))`;
  await query(sql);
  for (;;) {
    const rows = await query<{ order_hash: Hex; maker: Address; expires_at_seconds: bigint }>(
      `fetch ${ROWS_PER_FETCH} from gone`,
    );
    if (rows.length === 0) break;
    yield rows.map(({ order_hash, maker, expires_at_seconds }) => {
      return { orderHash: order_hash, maker, expiresAtSeconds: Number(expires_at_seconds) };
    });
  }
  await query('close gone');
}

/**
 * Orders whose makers may have been answered, that the restored log lacks, and of which only the hash is left. One line
 * each.
 */
export async function readLost(
  { query }: Pick<Postgres, 'query'>,
  partition: number,
  { kept, restored }: Schemas,
): Promise<string[]> {
  const sql = `select order_hash, maker, why from (
      select order_hash, maker, 'was not folded because its maker is quarantined' as why
        from ${kept}.hashes where partition = $1 and state = 'UNFOLDED'
      union all
      select order_hash, maker, 'was on its way' from ${kept}.in_flight f
        where partition = $1
          and not exists (select from ${kept}.hashes h where h.order_hash = f.order_hash and h.maker = f.maker)
          and not exists (
            select from ${kept}.cancelling c
            where c.order_hash = f.order_hash and c.maker = f.maker and c.instruction is null)) lost
    where not exists (select from ${restored}.hashes r where r.order_hash = lost.order_hash and r.maker = lost.maker)
    order by maker, order_hash`;
  const rows = await query<{ order_hash: Hex; maker: Address; why: string }>(sql, [partition]);
  return rows.map(({ order_hash, maker, why }) => `lost: ${order_hash} of ${maker} ${why}`);
}
