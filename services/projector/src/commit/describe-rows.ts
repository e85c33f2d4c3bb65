import type { Address, Hex } from '@makerbook/contracts-primitives';
import {
  type Exits,
  expirySeconds,
  type Funding,
  type Maker,
  type OpenOrder,
  reasonOf,
  recordStart,
} from '@makerbook/domain';
import type { FundingRow, MakerRow, OrderRow, OrderStateRow } from '@makerbook/postgres';
import type { Quarantine } from '../store/open-store.js';
import type { ChangedRows } from '../store/save-projection.js';
import type { Changes } from './gather-changes.js';

/** Describes the rows to write to Postgres for the folded changes. */
export function describeRows(changes: Changes, quarantined: ReadonlyMap<Address, Quarantine>): ChangedRows {
  const makers: MakerRow[] = [];
  const funding: FundingRow[] = [];
  const fundingDropped: Pick<FundingRow, 'maker' | 'token'>[] = [];
  for (const [maker, { draft, storedFunding }] of changes.makers) {
    makers.push(makerRow(draft, quarantined.get(maker)));
    for (const [token, value] of draft.funding) {
      if (storedFunding.get(token) !== value) funding.push(fundingRow(maker, token, value));
    }
    for (const token of storedFunding.keys()) if (!draft.funding.has(token)) fundingDropped.push({ maker, token });
  }
  const { history, fills, submitted, settled } = changes;
  const hashes = [...changes.hashes.values()];
  return { makers, funding, fundingDropped, ...orderRows(changes), history, fills, hashes, submitted, settled };
}

/** An order that came and went within the changes leaves only history. */
function orderRows({ orders }: Changes): Pick<ChangedRows, 'opened' | 'changed' | 'removed'> {
  const opened: OrderRow[] = [];
  const changed: OrderStateRow[] = [];
  const removed: Hex[] = [];
  for (const { isNew, isOpen, order } of orders.values()) {
    if (!isOpen) {
      if (!isNew) removed.push(order.orderHash);
    } else if (isNew) opened.push(orderRow(order));
    else changed.push(orderStateRow(order));
  }
  return { opened, changed, removed };
}

function makerRow(
  { maker, admission, limits, nonce, exits, dueAtSeconds, listVersion, orders }: Maker,
  quarantine: Quarantine | undefined,
): MakerRow {
  const { offset = null, reason = null, clock = null } = quarantine ?? {};
  return {
    maker,
    admission,
    limits,
    exits: usedExits(exits),
    nonce: nonce === undefined ? null : String(nonce.value),
    nonceBlock: nonce?.block ?? null,
    dueAtSeconds: Number.isFinite(dueAtSeconds) ? dueAtSeconds : null,
    listVersion,
    openOrders: orders.size,
    quarantinedOffset: offset,
    quarantineReason: reason,
    quarantineClock: clock,
  };
}

/** Leaves out the exits that are off. */
function usedExits(exits: Exits): Partial<Exits> {
  const isUsed = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== 0 && value !== null);
  return Object.fromEntries(Object.entries(exits).filter(([, value]) => isUsed(value)));
}

function fundingRow(maker: Hex, token: Hex, { known, openOrders, teller }: Funding): FundingRow {
  const row = { maker, token, openOrders, teller: teller ?? null };
  if (known === undefined) return { ...row, balance: null, allowance: null, block: null };
  const { balance, allowance, block } = known;
  return { ...row, balance: String(balance), allowance: String(allowance), block };
}

function orderStateRow({ orderHash, remaining, isObserved, state, inBook, cappedUntil }: OpenOrder): OrderStateRow {
  const reason = reasonOf(state);
  return { orderHash, remaining: String(remaining), isObserved, status: state.status, reason, inBook, cappedUntil };
}

function orderRow(order: OpenOrder): OrderRow {
  return {
    ...orderStateRow(order),
    maker: order.order.maker,
    acceptedOffset: order.acceptedOffset,
    acceptedAtMs: order.acceptedAtMs,
    expiresAtSeconds: expirySeconds(order),
    makingToken: order.order.making.token,
    makingAmount: String(order.order.making.amount),
    recordStart: recordStart(order),
    walletSignature: order.byWallet ? order.signature : null,
  };
}
