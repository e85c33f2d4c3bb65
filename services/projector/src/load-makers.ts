import type { Hex } from '@makerbook/contracts-events';
import {
  type Address,
  type Funding,
  type InactiveReason,
  type Maker,
  type Observed,
  type OpenOrder,
  type OrderStatus,
  orderFromBody,
  unknownMaker,
} from '@makerbook/domain';
import {
  type FundingRow,
  type MakerRow,
  type MakerRows,
  type OrderRow,
  type Postgres,
  readMakers,
} from '@makerbook/postgres';

/**
 * Makers of one partition as of its last commit, so that the next batch need not read them. Valid only while the
 * partition is owned and its commits succeed: the owner drops it otherwise.
 */
export interface MakerCache {
  readonly get: (maker: Address) => Maker | undefined;
  /** Takes over what a commit has stored, and forgets the makers that were used longest ago where there are too many. */
  readonly store: (makers: Iterable<Maker>) => void;
  /** Makers and open orders that are held. */
  readonly size: () => number;
}

/** @param sizeMax how many makers and open orders it holds together; 0 holds none. */
export function createMakerCache(sizeMax: number): MakerCache {
  const makers = new Map<Address, Maker>();
  let size = 0;
  const forget = (maker: Address): void => {
    const held = makers.get(maker);
    if (held === undefined) return;
    makers.delete(maker);
    size -= sizeOf(held);
  };
  return {
    get: (maker) => makers.get(maker),
    store: (changed) => {
      for (const maker of changed) {
        forget(maker.maker);
        makers.set(maker.maker, maker);
        size += sizeOf(maker);
      }
      for (const oldest of makers.keys()) {
        if (size <= sizeMax) return;
        forget(oldest);
      }
    },
    size: () => size,
  };
}

/** The makers, from the cache or else from Postgres, all unknown ones included. Throws PostgresUnavailable. */
export async function loadMakers(
  addresses: Iterable<Address>,
  cache: MakerCache,
  postgres: Postgres,
): Promise<Map<Address, Maker>> {
  const makers = new Map<Address, Maker>();
  const missing: Address[] = [];
  for (const address of addresses) {
    const held = cache.get(address);
    if (held === undefined) missing.push(address);
    else makers.set(address, held);
  }
  if (missing.length > 0) {
    const stored = makersFromRows(await readMakers(postgres, missing));
    for (const address of missing) makers.set(address, stored.get(address) ?? unknownMaker(address));
  }
  return makers;
}

/** The makers that the rows describe. */
export function makersFromRows(rows: MakerRows): Map<Address, Maker> {
  const funding = groupByMaker(rows.funding, (row) => [row.token, fundingFromRow(row)]);
  const orders = groupByMaker(rows.orders, (row) => [row.orderHash, orderFromRow(row)]);
  return new Map(
    rows.makers.map((row) => [row.maker, makerFromRow(row, funding.get(row.maker), orders.get(row.maker))]),
  );
}

function makerFromRow(
  row: MakerRow,
  funding: Map<Address, Funding> | undefined,
  orders: Map<Hex, OpenOrder> | undefined,
): Maker {
  return {
    maker: row.maker,
    admission: row.admission as Maker['admission'],
    nonce: observedOf(row.nonce, row.nonceBlock),
    nonceIsWatched: row.nonceIsWatched,
    funding: funding ?? new Map(),
    orders: orders ?? new Map(),
    dueAtSeconds: row.dueAtSeconds ?? Number.POSITIVE_INFINITY,
  };
}

function fundingFromRow(row: FundingRow): Funding {
  return {
    balance: observedOf(row.balance, row.balanceBlock),
    allowance: observedOf(row.allowance, row.allowanceBlock),
    openOrders: row.openOrders,
  };
}

function orderFromRow(row: OrderRow): OpenOrder {
  const { order, signature } = JSON.parse(`${row.recordStart}}`);
  return {
    orderHash: row.orderHash,
    order: orderFromBody(order),
    signature,
    acceptedAtMs: row.acceptedAtMs,
    acceptedOffset: row.acceptedOffset,
    remaining: BigInt(row.remaining),
    isObserved: row.isObserved,
    state: stateFromRow(row),
    inBook: row.inBook,
  };
}

function stateFromRow({ status, reason }: OrderRow): OrderStatus {
  if (status === 'INACTIVE') return { status, reason: reason as InactiveReason };
  return { status: status as 'VALIDATING' | 'ACTIVE' };
}

function observedOf(value: string | null, blockNumber: number | null): Observed | undefined {
  return value === null || blockNumber === null ? undefined : { value: BigInt(value), blockNumber };
}

function groupByMaker<Row extends { readonly maker: Address }, K, V>(
  rows: readonly Row[],
  entryOf: (row: Row) => [K, V],
): Map<Address, Map<K, V>> {
  const groups = new Map<Address, Map<K, V>>();
  for (const row of rows) {
    const group = groups.get(row.maker) ?? new Map<K, V>();
    groups.set(row.maker, group);
    group.set(...entryOf(row));
  }
  return groups;
}

function sizeOf(maker: Maker): number {
  return 1 + maker.orders.size;
}
