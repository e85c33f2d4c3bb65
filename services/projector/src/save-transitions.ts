import type { Hex } from '@makerbook/contracts-events';
import {
  type Address,
  expirySeconds,
  type Maker,
  type Observed,
  type OpenOrder,
  recordEnd,
  recordStart,
  type Transition,
} from '@makerbook/domain';
import type {
  CancelledHashRow,
  FundingRow,
  HistoryRow,
  MakerRow,
  OrderRow,
  OrderStateRow,
  ProjectionCommit,
} from '@makerbook/postgres';
import type { OrderChange } from '@makerbook/redis';
import type { Folded, Happened } from './fold-facts.js';

/** The rows that a fold changes: all of a commit but the position and the feeds. */
export type ChangedRows = Pick<
  ProjectionCommit,
  | 'makers'
  | 'funding'
  | 'fundingDropped'
  | 'opened'
  | 'changed'
  | 'removed'
  | 'history'
  | 'cancelledHashes'
  | 'halted'
  | 'withheld'
>;

/** What has to be written so that the stored makers become the folded ones. An order that came and went leaves history alone. */
export function describeRows(before: ReadonlyMap<Address, Maker>, folded: Folded): ChangedRows {
  const makers: MakerRow[] = [];
  const funding: FundingRow[] = [];
  const fundingDropped: { maker: Hex; token: Hex }[] = [];
  for (const maker of folded.makers.values()) {
    makers.push(makerRow(maker, folded.halted.get(maker.maker) ?? null));
    const known = before.get(maker.maker)?.funding;
    for (const [token, value] of maker.funding) {
      if (known?.get(token) !== value) funding.push(fundingRow(maker.maker, token, value));
    }
    for (const token of known?.keys() ?? []) {
      if (!maker.funding.has(token)) fundingDropped.push({ maker: maker.maker, token });
    }
  }
  return {
    makers,
    funding,
    fundingDropped,
    ...orderRows(before, folded),
    history: historyRows(folded.happened),
    cancelledHashes: cancelledHashRows(folded.happened),
  };
}

/** What the caches have to know of it: the record as it is listed, for every order that opened, changed or went. */
export function describeCacheChanges(happened: readonly Happened[]): OrderChange[] {
  const changes: OrderChange[] = [];
  for (const { transition, maker } of happened) {
    switch (transition.kind) {
      case 'OrderOpened':
      case 'OrderChanged': {
        const { order } = transition;
        changes.push({
          kind: transition.kind === 'OrderOpened' ? 'opened' : 'changed',
          maker,
          orderHash: order.orderHash,
          salt: `0x${order.order.salt.toString(16)}`,
          acceptedOffset: order.acceptedOffset,
          expiresAtSeconds: expirySeconds(order),
          record: recordStart(order) + recordEnd(order.state),
        });
        break;
      }
      case 'OrderRemoved': {
        const { order } = transition;
        changes.push({ kind: 'removed', maker, orderHash: order.orderHash, expiresAtSeconds: expirySeconds(order) });
        break;
      }
      case 'HashCancelled': {
        const { orderHash, expiresAtSeconds } = transition;
        changes.push({ kind: 'removed', maker, orderHash, expiresAtSeconds });
        break;
      }
      case 'OrderObserved':
      case 'OrderWithheld':
      case 'MakerChanged':
        break;
      default:
        never(transition);
    }
  }
  return changes;
}

function orderRows(before: ReadonlyMap<Address, Maker>, folded: Folded) {
  const opened: OrderRow[] = [];
  const changed: OrderStateRow[] = [];
  const removed: Hex[] = [];
  const seen = new Set<Hex>();
  for (const { transition, maker } of folded.happened) {
    if (!('order' in transition) || seen.has(transition.order.orderHash)) continue;
    const { orderHash } = transition.order;
    seen.add(orderHash);
    const wasOpen = before.get(maker)?.orders.has(orderHash) === true;
    const now = folded.makers.get(maker)?.orders.get(orderHash);
    if (now === undefined) {
      if (wasOpen) removed.push(orderHash);
    } else if (wasOpen) changed.push(orderStateRow(now));
    else opened.push(orderRow(now));
  }
  return { opened, changed, removed };
}

function makerRow(
  { maker, admission, nonce, nonceIsWatched, dueAtSeconds }: Maker,
  haltedOffset: bigint | null,
): MakerRow {
  return {
    maker,
    admission,
    nonce: decimal(nonce),
    nonceBlock: nonce?.blockNumber ?? null,
    nonceIsWatched,
    dueAtSeconds: Number.isFinite(dueAtSeconds) ? dueAtSeconds : null,
    haltedOffset,
  };
}

function fundingRow(maker: Hex, token: Hex, funding: Maker['funding'] extends ReadonlyMap<Hex, infer F> ? F : never) {
  return {
    maker,
    token,
    balance: decimal(funding.balance),
    balanceBlock: funding.balance?.blockNumber ?? null,
    allowance: decimal(funding.allowance),
    allowanceBlock: funding.allowance?.blockNumber ?? null,
    openOrders: funding.openOrders,
  };
}

function orderStateRow(order: OpenOrder): OrderStateRow {
  const { orderHash, remaining, observedBlock, state, inBook } = order;
  const seen = { remaining: String(remaining), observedBlock: observedBlock ?? null };
  return { orderHash, ...seen, ...stateColumns(state), inBook };
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
  };
}

const happenings = {
  OrderOpened: 'OPENED',
  OrderChanged: 'CHANGED',
  OrderWithheld: 'WITHHELD',
  OrderRemoved: 'REMOVED',
} as const satisfies Partial<Record<Transition['kind'], HistoryRow['happened']>>;

function cancelledHashRows(happened: readonly Happened[]): CancelledHashRow[] {
  return happened.flatMap(({ transition, maker }) => {
    if (transition.kind !== 'HashCancelled') return [];
    const { orderHash, expiresAtSeconds, offset } = transition;
    return { maker, orderHash, expiresAtSeconds, offset };
  });
}

function historyRows(happened: readonly Happened[]): HistoryRow[] {
  return happened.flatMap(({ transition, maker }) => {
    if (!('order' in transition) || transition.kind === 'OrderObserved') return [];
    const { order } = transition;
    const { status, reason } = stateColumns(order.state);
    return {
      offset: transition.offset,
      orderHash: order.orderHash,
      maker,
      happened: happenings[transition.kind],
      status,
      reason: transition.kind === 'OrderRemoved' ? transition.reason : reason,
      remaining: String(order.remaining),
      expiresAtSeconds: transition.kind === 'OrderOpened' ? expirySeconds(order) : null,
    };
  });
}

function stateColumns(state: OpenOrder['state']): Pick<OrderStateRow, 'status' | 'reason'> {
  return { status: state.status, reason: state.status === 'INACTIVE' ? state.reason : null };
}

function decimal(observed: Observed | undefined): string | null {
  return observed === undefined ? null : String(observed.value);
}

function never(transition: never): never {
  throw new Error(`a transition that the caches do not know: ${JSON.stringify(transition)}`);
}
