import type { BlockProcessed, MakerEvent, MakerFact } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import {
  advanceLog,
  type Funding,
  type LogClock,
  MakerDraft,
  type ObservedNonce,
  type OpenOrder,
  type Rules,
  rememberHashes,
  startOfLog,
  type Transition,
  unknownMaker,
} from '@makerbook/domain';

/** An open order with what is known of its maker and funds. */
export interface KnownOrder {
  readonly order: OpenOrder;
  readonly funding: Funding | undefined;
  readonly nonce: ObservedNonce | undefined;
}

/** True for a fact that cannot be folded, as with a faulty build, until its maker is released. */
export function isUnfoldable(fact: MakerEvent): boolean {
  return fact.type === 'OrderSubmitted' && fact.order.making.amount === '0x0';
}

/** A fact that was not folded for a maker in quarantine, and the clock before it. */
interface MissedFact {
  readonly fact: MakerFact | BlockProcessed;
  readonly offset: bigint;
  readonly clock: LogClock;
}

/** One partition of the log, folded one fact at a time as by the projector. */
export class PartitionFold {
  clock: LogClock = startOfLog;
  /** Makers in quarantine, each with the facts not folded for it. The first is the one that could not be folded. */
  readonly #quarantined = new Map<Address, MissedFact[]>();
  readonly #makers = new Map<Address, MakerDraft>();
  readonly #makerOf = new Map<Hex, Address>();
  readonly #hashes = rememberHashes();
  readonly #rules: Rules;

  constructor({ routingGraceSeconds }: Pick<Rules, 'routingGraceSeconds'>) {
    this.#rules = { routingGraceSeconds, ...this.#hashes };
  }

  apply(fact: MakerEvent, offset: bigint): readonly Transition[] {
    const transitions = this.#change(fact, offset);
    this.#hashes.note(transitions);
    return transitions;
  }

  find(orderHash: Hex): KnownOrder | undefined {
    const maker = this.#makers.get(this.#makerOf.get(orderHash) ?? '0x');
    const order = maker?.orders.get(orderHash);
    if (maker === undefined || order === undefined) return undefined;
    return { order, funding: maker.funding.get(order.order.making.token), nonce: maker.nonce };
  }

  isQuarantined(maker: Address): boolean {
    return this.#quarantined.has(maker);
  }

  openOrders(): readonly OpenOrder[] {
    return [...this.#makers.values()].flatMap(({ orders }) => [...orders.values()]);
  }

  #change(fact: MakerEvent, offset: bigint): readonly Transition[] {
    if (fact.type === 'ServiceModeSet' || fact.type === 'WatcherResigned') return [];
    if (fact.type === 'QuarantineLifted') return this.#release(fact.maker, offset);
    const { clock } = this;
    if (fact.type !== 'BlockProcessed') {
      if (fact.type === 'OrderSubmitted') this.#makerOf.set(fact.orderHash, fact.maker);
      const maker = this.#makers.get(fact.maker) ?? new MakerDraft(unknownMaker(fact.maker), this.#rules);
      this.#makers.set(fact.maker, maker);
      const missed = this.#quarantined.get(fact.maker);
      if (missed === undefined && isUnfoldable(fact)) return this.#quarantine(maker, { fact, offset, clock });
      missed?.push({ fact, offset, clock });
      return missed === undefined ? maker.apply(fact, { offset, clock }) : [];
    }
    for (const missed of this.#quarantined.values()) missed.push({ fact, offset, clock });
    this.clock = advanceLog(clock, fact);
    if (this.clock.block === clock.block) return [];
    const folded = [...this.#makers.values()].filter(({ maker }) => !this.#quarantined.has(maker));
    return folded.flatMap((maker) => maker.advance(this.clock, offset));
  }

  /** Takes the maker's orders off the book. Nothing more is folded for the maker. */
  #quarantine(draft: MakerDraft, missed: MissedFact): readonly Transition[] {
    const { maker } = draft;
    this.#quarantined.set(maker, [missed]);
    return draft.quarantine(missed.offset);
  }

  /**
   * Folds the missed facts. Readers of the book see only their removals. All open orders come back and are read again.
   */
  #release(maker: Address, offset: bigint): readonly Transition[] {
    const draft = this.#makers.get(maker);
    const missed = this.#quarantined.get(maker);
    if (draft === undefined || missed === undefined) return [];
    this.#quarantined.delete(maker);
    const gone = missed.flatMap(({ fact, offset: at, clock }) => {
      if (isUnfoldable(fact)) return [];
      draft.dueAtSeconds = 0;
      const isBlock = fact.type === 'BlockProcessed';
      const happened = isBlock ? draft.advance(advanceLog(clock, fact), at) : draft.apply(fact, { offset: at, clock });
      this.#hashes.note(happened);
      return happened.flatMap((each) =>
        each.kind === 'OrderRemoved' ? [{ ...each, order: { ...each.order, inBook: false } }] : [],
      );
    });
    return [...gone, ...draft.release({ offset, clock: this.clock })];
  }
}
