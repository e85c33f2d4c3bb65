import type { OrderSubmitted } from '@makerbook/contracts-events';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import {
  boundedSeconds,
  type ExitFact,
  expirySeconds,
  hashKeyText,
  keptUntil,
  markOfExit,
  type OpenOrder,
  reasonOf,
  type Transition,
} from '@makerbook/domain';
import type { FillRow, HashKey, HashRow, HistoryRow } from '@makerbook/postgres';
import type { CachedMaker } from '../fold/cache-makers.js';
import type { LoggedFact } from '../fold/read-facts.js';

/** An order that has changed since the previous commit. */
export interface TouchedOrder {
  /** Accepted since the previous commit. */
  readonly isNew: boolean;
  readonly isOpen: boolean;
  /** Its newest state, or its last one if it is removed. */
  readonly order: OpenOrder;
}

/**
 * The changes since the previous commit, by order and by maker. Each row is written once, however often it changed. The
 * history has a row for each change.
 */
export class Changes {
  readonly makers = new Map<Address, CachedMaker>();
  readonly orders = new Map<Hex, TouchedOrder>();
  readonly history: HistoryRow[] = [];
  readonly fills: FillRow[] = [];
  /** The hashes to remember, keyed by `hashKeyText`. */
  readonly hashes = new Map<string, HashRow>();
  /** Orders that the log holds. */
  readonly submitted: HashKey[] = [];
  /** Cancellations and instructions that the log holds, and orders that were removed. */
  readonly settled: HashKey[] = [];
  /** Counts for metrics, keyed by kind and outcome: `OrderRemoved:FILLED`. */
  readonly kinds = new Map<string, number>();
  readonly types = new Map<string, number>();
  /** Orders that their first reading made ACTIVE. Emptied once their messages are published. */
  readonly activated: { readonly offset: bigint; readonly acceptedAtMs: number }[] = [];
  newestFactMs: number | undefined;
  transitions = 0;
  facts = 0;

  fact({ fact, offset, timeMs }: LoggedFact): void {
    this.facts += 1;
    this.newestFactMs = timeMs;
    count(this.types, fact.type);
    if (fact.type === 'OrderSubmitted') this.submitted.push(fact);
    if (fact.type === 'OrderCancelled') this.settled.push(fact);
    if (isExit(fact)) this.settled.push({ maker: fact.maker, orderHash: markOfExit(fact) });
    if (fact.type !== 'MakerObserved') return;
    for (const { orderHash, blockNumber, logIndex } of fact.fills ?? []) {
      this.fills.push({ orderHash, blockNumber, logIndex, maker: fact.maker, logOffset: offset });
    }
  }

  /** Marks a maker as changed, and gathers the changes of its orders. */
  maker(cached: CachedMaker, transitions: readonly Transition[]): void {
    const { maker } = cached.draft;
    this.makers.set(maker, cached);
    for (const transition of transitions) this.#transition(maker, transition);
  }

  /** Notes an order of a maker in quarantine: it waits in the log. */
  unfolded({ maker, orderHash, order }: OrderSubmitted): void {
    if (this.hashes.has(hashKeyText({ maker, orderHash }))) return;
    const { salt } = order;
    const [nonce, expiresAtSeconds] = [String(BigInt(order.nonce)), boundedSeconds(BigInt(order.expiresAt))];
    this.#remember({ maker, orderHash, state: 'UNFOLDED', salt, nonce, expiresAtSeconds, keptUntilSeconds: 0 });
  }

  #transition(maker: Address, transition: Transition): void {
    this.transitions += 1;
    count(this.kinds, `${transition.kind}:${outcomeOf(transition)}`);
    if (transition.kind === 'MakerChanged') return;
    if (transition.kind === 'HashCancelled') {
      const { orderHash, expiresAtSeconds } = transition;
      const times = { expiresAtSeconds, keptUntilSeconds: 0 };
      return this.#remember({ maker, orderHash, state: 'CANCELLED', salt: null, nonce: null, ...times });
    }
    const { order, kind } = transition;
    const { orderHash } = order;
    // An order that comes again long after its nonce was passed is removed at once. It may still have been open when
    // the commit began.
    const isNew = this.orders.get(orderHash)?.isNew ?? kind === 'OrderOpened';
    this.orders.set(orderHash, { isNew, isOpen: kind !== 'OrderRemoved', order });
    if (kind === 'OrderOpened') {
      const times = { expiresAtSeconds: expirySeconds(order), keptUntilSeconds: keptUntil(order) };
      this.#remember({ maker, orderHash, state: 'ACCEPTED', salt: null, nonce: String(order.order.nonce), ...times });
    }
    if (kind === 'OrderRemoved') this.settled.push({ maker, orderHash });
    if (kind === 'OrderObserved' || kind === 'FundsChanged') return;
    const isFirst = kind === 'OrderChanged' && transition.causes.includes('OBSERVED');
    if (isFirst && order.inBook && order.state.status === 'ACTIVE') {
      this.activated.push({ offset: transition.offset, acceptedAtMs: order.acceptedAtMs });
    }
    const { status } = order.state;
    const row: HistoryRow = {
      logOffset: transition.offset,
      orderHash,
      maker,
      happened: happenings[kind],
      status,
      reason: kind === 'OrderRemoved' ? transition.reason : reasonOf(order.state),
      remaining: String(order.remaining),
      cappedUntil: order.cappedUntil,
      salt: null,
    };
    this.history.push(kind === 'OrderOpened' ? { ...row, salt: quantity(order.order.salt) } : row);
    if (kind === 'OrderOpened' && transition.isWithheld) this.history.push({ ...row, happened: 'WITHHELD' });
  }

  #remember(row: HashRow): void {
    this.hashes.set(hashKeyText(row), row);
  }
}

const exits: readonly string[] = ['OrdersCancelled', 'SwitchSet', 'CancelKeysSet', 'FillCapSet'];
const isExit = (fact: LoggedFact['fact']): fact is ExitFact => exits.includes(fact.type);

const happenings = {
  OrderOpened: 'OPENED',
  OrderChanged: 'CHANGED',
  OrderWithheld: 'WITHHELD',
  OrderRemoved: 'REMOVED',
} as const satisfies Partial<Record<Transition['kind'], HistoryRow['happened']>>;

/** For metrics: the status of an order that has changed, or why an order was removed. */
function outcomeOf(transition: Transition): string {
  if ('reason' in transition) return transition.reason;
  if (transition.kind !== 'OrderChanged') return '';
  return transition.causes.includes('FILLED') ? 'FILLED' : transition.order.state.status;
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
