import { makerLimits } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import {
  type Funding,
  type InactiveReason,
  type Maker,
  noExits,
  type OpenOrder,
  type OrderStatus,
  orderFromBody,
  unknownMaker,
  type WaitsFor,
} from '@makerbook/domain';
import { FatalError } from '@makerbook/kafka';
import type { FundingRow, MakerRow, OrderRow } from '@makerbook/postgres';
import type { MakerRows } from '../store/open-store.js';

/**
 * Builds makers from their rows. A maker without rows is unknown.
 * @throws FatalError if the fold never writes such rows
 */
export function makersFromRows(partition: number, makers: readonly Address[], rows: MakerRows): Maker[] {
  const funding = Map.groupBy(rows.funding, ({ maker }) => maker);
  const orders = Map.groupBy(rows.orders, ({ maker }) => maker);
  const stored = new Map(rows.makers.map((row) => [row.maker, row]));
  return makers.map((maker) => {
    const row = stored.get(maker);
    try {
      if (row !== undefined) return makerFromRow(row, funding.get(maker) ?? [], orders.get(maker) ?? []);
      if (orders.has(maker)) throw new Error('it has orders, and no row of its own');
      return unknownMaker(maker);
    } catch (error) {
      const reason = error instanceof Error ? error.message : error;
      throw badRows(partition, `the rows of ${maker} cannot be read: ${reason}`, error);
    }
  });
}

/** The error for rows that no fold writes. It names the remedy. */
export function badRows(partition: number, reason: string, cause?: unknown): FatalError {
  const remedy = 'Stop the services, restore the database or run rebuild, and start them';
  return new FatalError(`partition ${partition}: ${reason}. ${remedy}`, { cause });
}

function makerFromRow(row: MakerRow, funding: readonly FundingRow[], orders: readonly OrderRow[]): Maker {
  const { nonce, nonceBlock } = row;
  const maker: Maker = {
    maker: row.maker,
    admission: row.admission as Maker['admission'],
    // Parsing keeps the keys in the order of the fact, so that the feed has the same bytes again.
    limits: makerLimits.parse(row.limits),
    exits: { ...noExits, ...row.exits },
    nonce: nonce === null || nonceBlock === null ? undefined : { value: BigInt(nonce), block: nonceBlock },
    funding: new Map(funding.map((one) => [one.token, fundingFromRow(one)])),
    orders: new Map(orders.map((one) => [one.orderHash, orderFromRow(one)])),
    listVersion: row.listVersion,
    dueAtSeconds: row.dueAtSeconds ?? Number.POSITIVE_INFINITY,
  };
  assertConsistent(maker);
  return maker;
}

/** Checks that each token's funding counts the open orders that sell it. */
function assertConsistent({ funding, orders }: Maker): void {
  const selling = Map.groupBy(orders.values(), ({ order }) => order.making.token);
  for (const token of new Set([...selling.keys(), ...funding.keys()])) {
    const [open, known] = [selling.get(token)?.length ?? 0, funding.get(token)?.openOrders ?? 0];
    if (open !== known) throw new Error(`${open} open orders sell ${token}, its funding counts ${known}`);
  }
}

function fundingFromRow({ balance, allowance, block, openOrders, teller }: FundingRow): Funding {
  const isKnown = balance !== null && allowance !== null && block !== null;
  return {
    known: isKnown ? { balance: BigInt(balance), allowance: BigInt(allowance), block } : undefined,
    openOrders,
    teller: teller ?? undefined,
  };
}

function orderFromRow(row: OrderRow): OpenOrder {
  const { order, signature } = JSON.parse(`${row.recordStart}}`);
  return {
    orderHash: row.orderHash,
    order: orderFromBody(order),
    signature,
    byWallet: row.walletSignature !== null,
    acceptedAtMs: row.acceptedAtMs,
    acceptedOffset: row.acceptedOffset,
    remaining: BigInt(row.remaining),
    isObserved: row.isObserved,
    ...waitsForFromRow(row),
    state: stateFromRow(row),
    inBook: row.inBook,
    cappedUntil: row.cappedUntil,
  };
}

function stateFromRow({ status, reason }: OrderRow): OrderStatus {
  if (status === 'INACTIVE') return { status, reason: reason as InactiveReason };
  if (status === 'VALIDATING' && reason !== null) return { status, waitsFor: reason as WaitsFor };
  return { status: status as 'VALIDATING' | 'ACTIVE' };
}

/** An order that waits only for its maker's funds has no `waitsFor` of its own. */
function waitsForFromRow({ status, reason }: OrderRow): Pick<OpenOrder, 'waitsFor'> {
  return status === 'VALIDATING' && (reason === 'SIGNATURE' || reason === 'TAKING_TOKEN') ? { waitsFor: reason } : {};
}
