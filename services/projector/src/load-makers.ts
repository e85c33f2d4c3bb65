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
  readonly forget: (maker: Address) => void;
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
    forget,
    size: () => size,
  };
}

/** Makers as they are stored. */
export interface LoadedMakers {
  readonly makers: ReadonlyMap<Address, Maker>;
  /** Those of whose rows some cannot be understood, and why. */
  readonly unreadable: ReadonlyMap<Address, string>;
}

/** The makers, from the cache or else from Postgres, all unknown ones included. Throws PostgresUnavailable. */
export async function loadMakers(
  addresses: Iterable<Address>,
  cache: MakerCache,
  postgres: Postgres,
): Promise<LoadedMakers> {
  const makers = new Map<Address, Maker>();
  const missing: Address[] = [];
  for (const address of addresses) {
    const held = cache.get(address);
    if (held === undefined) missing.push(address);
    else makers.set(address, held);
  }
  if (missing.length === 0) return { makers, unreadable: new Map() };
  const stored = makersFromRows(await readMakers(postgres, missing));
  for (const address of missing) {
    if (!stored.unreadable.has(address)) makers.set(address, stored.makers.get(address) ?? unknownMaker(address));
  }
  return { makers, unreadable: stored.unreadable };
}

/** The makers that the rows describe. A row that cannot be understood is a bug, and harms its maker alone. */
export function makersFromRows(rows: MakerRows): LoadedMakers {
  const funding = Map.groupBy(rows.funding, ({ maker }) => maker);
  const orders = Map.groupBy(rows.orders, ({ maker }) => maker);
  const makers = new Map<Address, Maker>();
  const unreadable = new Map<Address, string>();
  for (const row of rows.makers) {
    try {
      makers.set(row.maker, makerFromRow(row, funding.get(row.maker) ?? [], orders.get(row.maker) ?? []));
    } catch (error) {
      unreadable.set(row.maker, `its rows cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { makers, unreadable };
}

function makerFromRow(row: MakerRow, funding: readonly FundingRow[], orders: readonly OrderRow[]): Maker {
  return {
    maker: row.maker,
    admission: row.admission as Maker['admission'],
    nonce: observedOf(row.nonce, row.nonceBlock),
    nonceIsWatched: row.nonceIsWatched,
    funding: new Map(funding.map((one) => [one.token, fundingFromRow(one)])),
    orders: new Map(orders.map((one) => [one.orderHash, orderFromRow(one)])),
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

/** Throws where the row cannot be understood. */
export function orderFromRow(row: OrderRow): OpenOrder {
  const { order, signature } = JSON.parse(`${row.recordStart}}`);
  return {
    orderHash: row.orderHash,
    order: orderFromBody(order),
    signature,
    acceptedAtMs: row.acceptedAtMs,
    acceptedOffset: row.acceptedOffset,
    remaining: BigInt(row.remaining),
    observedBlock: row.observedBlock ?? undefined,
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

function sizeOf(maker: Maker): number {
  return 1 + maker.orders.size;
}
