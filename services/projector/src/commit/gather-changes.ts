import type { Address, Hex } from '@makerbook/contracts-primitives';
import { expirySeconds, type OpenOrder, type Transition } from '@makerbook/domain';
import type { CancelledHashRow, HistoryRow, MakerRow, OrderRow } from '@makerbook/postgres';
import type { LoggedFact } from '../fold/read-facts.js';

/** What became of an order since the commit before. */
export interface TouchedOrder {
  readonly maker: Address;
  /** It was accepted since. */
  readonly isNew: boolean;
  readonly isOpen: boolean;
  /** As it is now, or was last. */
  readonly order: OpenOrder;
}

/**
 * What has been folded since the commit before, by order and by maker: however often one changed, its row is written once.
 * The history has a row for each change.
 */
export class Changes {
  readonly makers = new Set<Address>();
  readonly orders = new Map<Hex, TouchedOrder>();
  readonly history: HistoryRow[] = [];
  readonly cancelled = new Map<Hex, CancelledHashRow>();
  /** Makers that are quarantined as their rows cannot be read, with these. */
  readonly unreadable = new Map<Address, MakerRow>();
  /** Their orders that left the book. */
  readonly withdrawn: OrderRow[] = [];
  /** For metrics. */
  readonly kinds = new Map<Transition['kind'], number>();
  readonly types = new Map<string, number>();
  newestFactMs: number | undefined;
  transitions = 0;
  facts = 0;

  fact({ fact, timeMs }: LoggedFact): void {
    this.facts += 1;
    this.newestFactMs = timeMs;
    count(this.types, fact.type);
  }

  /** Marks a maker as changed, and takes what happened to its orders. */
  maker(maker: Address, transitions: readonly Transition[]): void {
    this.makers.add(maker);
    for (const transition of transitions) this.#transition(maker, transition);
  }

  /** An order of a quarantined maker whose rows cannot be read leaves the book. */
  withdraw(row: OrderRow, offset: bigint): void {
    const { orderHash, maker, status, reason, remaining } = row;
    this.withdrawn.push(row);
    this.transitions += 1;
    this.history.push({
      logOffset: offset,
      orderHash,
      maker,
      happened: 'WITHHELD',
      status,
      reason,
      remaining,
      expiresAtSeconds: null,
    });
  }

  #transition(maker: Address, transition: Transition): void {
    this.transitions += 1;
    count(this.kinds, transition.kind);
    if (transition.kind === 'MakerChanged') return;
    const { offset } = transition;
    if (transition.kind === 'HashCancelled') {
      const { orderHash, expiresAtSeconds } = transition;
      this.cancelled.set(orderHash, { maker, orderHash, expiresAtSeconds, logOffset: offset });
      return;
    }
    const { order, kind } = transition;
    const { orderHash } = order;
    const isNew = kind === 'OrderOpened' || this.orders.get(orderHash)?.isNew === true;
    this.orders.set(orderHash, { maker, isNew, isOpen: kind !== 'OrderRemoved', order });
    if (kind === 'OrderObserved') return;
    const { status } = order.state;
    const reason = order.state.status === 'INACTIVE' ? order.state.reason : null;
    this.history.push({
      logOffset: offset,
      orderHash,
      maker,
      happened: happenings[kind],
      status,
      reason: kind === 'OrderRemoved' ? transition.reason : reason,
      remaining: String(order.remaining),
      expiresAtSeconds: kind === 'OrderOpened' ? expirySeconds(order) : null,
    });
  }
}

const happenings = {
  OrderOpened: 'OPENED',
  OrderChanged: 'CHANGED',
  OrderWithheld: 'WITHHELD',
  OrderRemoved: 'REMOVED',
} as const satisfies Partial<Record<Transition['kind'], HistoryRow['happened']>>;

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
