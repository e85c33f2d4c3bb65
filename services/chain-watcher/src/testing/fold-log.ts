import { isClockEvent, type MakerEvent } from '@makerbook/contracts-events';
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

/** One partition of the log, folded as the projector does it, a fact at a time. */
export class PartitionFold {
  clock: LogClock = startOfLog;
  private readonly makers = new Map<Address, MakerDraft>();
  private readonly makerOf = new Map<Hex, Address>();
  private readonly hashes = rememberHashes();
  private readonly rules: Rules;
  private readonly isFenced: boolean;

  /** @param isFenced false: a lower term counts, a planted defect */
  constructor({ routingGraceSeconds, isFenced = true }: { routingGraceSeconds: number; isFenced?: boolean }) {
    this.rules = { routingGraceSeconds, ...this.hashes };
    this.isFenced = isFenced;
  }

  apply(given: MakerEvent, offset: bigint): readonly Transition[] {
    const transitions = this.change(this.isFenced ? given : this.unfenced(given), offset);
    this.hashes.note(transitions);
    return transitions;
  }

  find(orderHash: Hex): KnownOrder | undefined {
    const maker = this.makers.get(this.makerOf.get(orderHash) ?? '0x');
    const order = maker?.orders.get(orderHash);
    if (maker === undefined || order === undefined) return undefined;
    return { order, funding: maker.funding.get(order.order.making.token), nonce: maker.nonce };
  }

  openOrders(): readonly OpenOrder[] {
    return [...this.makers.values()].flatMap(({ orders }) => [...orders.values()]);
  }

  /** The newest block at which anything was read that is still known of a maker; -1 where nothing is. */
  newestRead(): number {
    const blocks = [...this.makers.values()].flatMap(({ nonce, funding }) => [
      nonce?.block ?? -1,
      ...[...funding.values()].map(({ known }) => known?.block ?? -1),
    ]);
    return Math.max(-1, ...blocks);
  }

  private change(fact: MakerEvent, offset: bigint): readonly Transition[] {
    if (fact.type === 'QuarantineLifted') return [];
    if (!isClockEvent(fact)) {
      if (fact.type === 'OrderSubmitted') this.makerOf.set(fact.orderHash, fact.maker);
      const maker = this.makers.get(fact.maker) ?? new MakerDraft(unknownMaker(fact.maker), this.rules);
      this.makers.set(fact.maker, maker);
      return maker.apply(fact, { offset, clock: this.clock });
    }
    const before = this.clock;
    this.clock = advanceLog(before, fact);
    if (this.clock.block === before.block) return [];
    return [...this.makers.values()].flatMap((maker) => maker.advance(this.clock, offset));
  }

  private unfenced(fact: MakerEvent): MakerEvent {
    return 'term' in fact ? { ...fact, term: Math.max(fact.term, this.clock.term) } : fact;
  }
}
