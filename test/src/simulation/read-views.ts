import { createClient } from '@makerbook/client';
import type { LimitOrderRecord } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from '@makerbook/postgres';

/** An order as Postgres holds it. */
export interface StoredOrder {
  /** Status or reason, and what remains. */
  readonly says: string;
  readonly isInBook: boolean;
}

/** The read model of some makers. Pairs are named `<maker> <token>`. */
export interface StoredView {
  readonly orders: ReadonlyMap<string, StoredOrder>;
  /** Why orders were removed. */
  readonly removals: ReadonlyMap<string, string>;
  /** Undefined where a value is not known yet. */
  readonly funds: ReadonlyMap<string, { readonly balance: bigint | undefined; readonly allowance: bigint | undefined }>;
  /** Of makers with an open order that was read: the nonce of others is not kept up to date. */
  readonly nonces: ReadonlyMap<string, bigint>;
}

/** The newest block of which every partition was projected; -1 for none. */
export async function readProjectedBlock(postgres: Postgres, partitions: number): Promise<number> {
  const [row] = await postgres.query<{ count: bigint; oldest: bigint | null }>(
    'select count(block_number) as count, min(block_number) as oldest from projections',
  );
  return Number(row?.count) === partitions ? Number(row?.oldest ?? -1) : -1;
}

export async function readStored(postgres: Postgres, makers: readonly string[]): Promise<StoredView> {
  const wanted = [makers.map((maker) => byteaOf(maker as Hex))];
  const [orders, removed, funding, nonces] = await postgres.transaction(async (query) => [
    await query<OrderRow>(
      'select order_hash, status, reason, remaining, in_book from orders where maker = any($1::bytea[])',
      wanted,
    ),
    await query<{ order_hash: Hex; reason: string }>(
      `select order_hash, reason from order_history where happened = 'REMOVED' and maker = any($1::bytea[])`,
      wanted,
    ),
    await query<{ maker: Hex; token: Hex; balance: string | null; allowance: string | null }>(
      'select maker, token, balance, allowance from funding where maker = any($1::bytea[])',
      wanted,
    ),
    await query<{ maker: Hex; nonce: string }>(
      `select maker, nonce from makers where maker = any($1::bytea[])
       and maker in (select maker from orders where is_observed)`,
      wanted,
    ),
  ]);
  return {
    orders: new Map(
      orders.map(({ order_hash, status, reason, remaining, in_book }) => [
        order_hash,
        { says: `${reason ?? status} ${remaining}`, isInBook: in_book },
      ]),
    ),
    removals: new Map(removed.map(({ order_hash, reason }) => [order_hash, reason])),
    funds: new Map(
      funding.map(({ maker, token, balance, allowance }) => [
        `${maker} ${token}`,
        { balance: toBigInt(balance), allowance: toBigInt(allowance) },
      ]),
    ),
    nonces: new Map(nonces.map(({ maker, nonce }) => [maker, BigInt(nonce)])),
  };
}

/** A record of a maker's list, and its status or reason. */
export type ListedOrder = LimitOrderRecord & { readonly says: string };

/** What a maker's GET lists, in the order of the answer. */
export async function readList(
  options: Parameters<typeof createClient>[0],
): Promise<{ readonly records: readonly ListedOrder[]; readonly isBehind: boolean }> {
  const { records, readLag } = await createClient(options).listOrders();
  return {
    records: records.map((record) => ({
      ...record,
      says: record.status === 'INACTIVE' ? (record.reason ?? 'INACTIVE without a reason') : record.status,
    })),
    isBehind: readLag !== 0,
  };
}

type OrderRow = {
  order_hash: Hex;
  status: string;
  reason: string | null;
  remaining: string;
  in_book: boolean;
};

function toBigInt(text: string | null): bigint | undefined {
  return text === null ? undefined : BigInt(text);
}
