import type { Address } from '@makerbook/contracts-primitives';
import { type Exits, type LogClock, type Maker, noExits, type Tokens } from '@makerbook/domain';
import { byteaOf, type Postgres } from '@makerbook/postgres';

/** What the rows know about a maker, in one snapshot. */
export interface MakerAccount extends Pick<Maker, 'admission' | 'limits' | 'exits'> {
  readonly partition: number;
  /** The maker's facts before this offset are folded. */
  readonly nextOffset: bigint;
  readonly clock: LogClock;
  /** Postgres has lost rows, and the log is not folded again yet. */
  readonly isUnsure: boolean;
  /** The reason. Null if the maker is not in quarantine. */
  readonly quarantine: string | null;
  readonly nonce: bigint | null;
  /** Counts only orders that have not expired. */
  readonly openOrders: number;
  readonly remembered: number;
  /** The budgets as they were charged last. */
  readonly budgets: { readonly orders: Tokens; readonly cancels: Tokens };
  /** The clock of Postgres, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** Reads a maker. Null if the rows do not have it. @throws PostgresUnavailable */
export async function readMaker(postgres: Pick<Postgres, 'query'>, maker: Address): Promise<MakerAccount | null> {
  const [row] = await postgres.query<Row>(readMakerSql, [byteaOf(maker)], 'read maker');
  if (row === undefined) return null;
  const budgetOf = (ofCancels: boolean): Tokens => {
    const found = row.budgets.find(({ of_cancels }) => of_cancels === ofCancels);
    return { left: found?.tokens ?? undefined, atMs: found?.at_ms ?? 0 };
  };
  return {
    partition: row.partition,
    nextOffset: row.next_offset,
    clock: { block: Number(row.block_number ?? -1), seconds: Number(row.block_timestamp) },
    admission: row.admission,
    limits: row.limits,
    exits: { ...noExits, ...row.exits },
    isUnsure: row.is_unsure,
    quarantine: row.quarantine_reason,
    nonce: row.nonce === null ? null : BigInt(row.nonce),
    openOrders: Number(row.open_orders),
    remembered: Number(row.remembered),
    budgets: { orders: budgetOf(false), cancels: budgetOf(true) },
    nowMs: Number(row.now_ms),
  };
}

const readMakerSql = `
  select p.partition, least(p.next_offset, m.quarantined_offset) as next_offset, p.block_number, p.block_timestamp,
    m.admission, m.limits, m.exits, m.nonce, m.quarantine_reason, m.remembered, clock.ms as now_ms,
    not exists (select from trusted) as is_unsure,
    (select count(*) from orders where maker = m.maker and expires_at_seconds > clock.ms / 1000) as open_orders,
    (select coalesce(json_agg(b), '[]') from (select of_cancels, tokens, at_ms from budgets where maker = m.maker) as b) as budgets
  from (select (extract(epoch from statement_timestamp()) * 1000)::bigint as ms) as clock, makers m join projections p using (partition)
  where m.maker = $1`;

interface Row {
  readonly partition: number;
  readonly next_offset: bigint;
  readonly block_number: bigint | null;
  readonly block_timestamp: bigint;
  readonly admission: Maker['admission'];
  readonly limits: Maker['limits'];
  readonly exits: Partial<Exits>;
  readonly nonce: string | null;
  readonly is_unsure: boolean;
  readonly quarantine_reason: string | null;
  readonly remembered: bigint;
  readonly now_ms: bigint;
  readonly open_orders: bigint;
  readonly budgets: readonly { readonly of_cancels: boolean; readonly tokens: number | null; readonly at_ms: number }[];
}
