import type { Address } from '@makerbook/contracts-primitives';
import {
  type Funding,
  type InactiveReason,
  type Maker,
  type OpenOrder,
  type OrderStatus,
  orderFromBody,
} from '@makerbook/domain';
import type { FundingRow, MakerRow, MakerRows, OrderRow } from '@makerbook/postgres';

/** A maker whose rows cannot be understood, and its orders that are in the book. */
export interface UnreadableMaker {
  readonly reason: string;
  readonly inBook: readonly OrderRow[];
}

/** The makers that the rows describe. Rows that cannot be understood are a bug, and harm their maker alone. */
export function makersFromRows(rows: MakerRows): {
  readonly makers: ReadonlyMap<Address, Maker>;
  readonly unreadable: ReadonlyMap<Address, UnreadableMaker>;
} {
  const funding = Map.groupBy(rows.funding, ({ maker }) => maker);
  const orders = Map.groupBy(rows.orders, ({ maker }) => maker);
  const makers = new Map<Address, Maker>();
  const unreadable = new Map<Address, UnreadableMaker>();
  for (const row of rows.makers) {
    const own = orders.get(row.maker) ?? [];
    try {
      const maker = makerFromRow(row, funding.get(row.maker) ?? [], own);
      assertConsistent(maker);
      makers.set(row.maker, maker);
    } catch (error) {
      unreadable.set(row.maker, unreadableMaker(`its rows cannot be read: ${messageOf(error)}`, own));
    }
  }
  for (const [maker, own] of orders) {
    if (!makers.has(maker) && !unreadable.has(maker)) {
      unreadable.set(maker, unreadableMaker('it has orders, and no row of its own', own));
    }
  }
  return { makers, unreadable };
}

/** @param orders all rows of the maker's orders */
export function unreadableMaker(reason: string, orders: readonly OrderRow[]): UnreadableMaker {
  return { reason, inBook: orders.filter(({ inBook }) => inBook) };
}

function makerFromRow(row: MakerRow, funding: readonly FundingRow[], orders: readonly OrderRow[]): Maker {
  const { nonce, nonceBlock } = row;
  return {
    maker: row.maker,
    admission: row.admission as Maker['admission'],
    nonce: nonce === null || nonceBlock === null ? undefined : { value: BigInt(nonce), block: nonceBlock },
    funding: new Map(funding.map((one) => [one.token, fundingFromRow(one)])),
    orders: new Map(orders.map((one) => [one.orderHash, orderFromRow(one)])),
    dueAtSeconds: row.dueAtSeconds ?? Number.POSITIVE_INFINITY,
  };
}

/** Each token's funding counts the open orders that sell it. */
function assertConsistent({ funding, orders }: Maker): void {
  const counted = new Map<Address, number>();
  for (const { order } of orders.values()) {
    const { token } = order.making;
    counted.set(token, (counted.get(token) ?? 0) + 1);
  }
  for (const token of new Set([...counted.keys(), ...funding.keys()])) {
    const [open, known] = [counted.get(token) ?? 0, funding.get(token)?.openOrders ?? 0];
    if (open !== known) throw new Error(`${open} open orders sell ${token}, its funding counts ${known}`);
  }
}

function fundingFromRow({ balance, allowance, block, openOrders }: FundingRow): Funding {
  const isKnown = balance !== null && allowance !== null && block !== null;
  return {
    known: isKnown ? { balance: BigInt(balance), allowance: BigInt(allowance), block } : undefined,
    openOrders,
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
