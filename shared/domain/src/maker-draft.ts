import type { MakerFact } from '@makerbook/contracts-events';
import { applyFact } from './apply-fact.js';
import type { LogClock } from './log-clock.js';
import type { Transition } from './maker.js';
import { expirySeconds, routableUntilSeconds } from './open-order.js';
import { type Accept, WritableMaker } from './writable-maker.js';

/** The place of a fact in the log. */
export interface FactPoint {
  readonly offset: bigint;
  /** The partition's clock before the fact. */
  readonly clock: LogClock;
}

/**
 * One maker in memory, changed fact by fact in the order of its partition. It depends on nothing else: the same facts
 * lead to the same transitions. If `apply`, `advance` or `release` throws, the maker stays as it was before.
 */
export class MakerDraft extends WritableMaker {
  /** Applies a fact about this maker. Throws if an invariant of the maker is broken. */
  apply(fact: MakerFact, { offset, clock }: FactPoint, accept?: Accept): readonly Transition[] {
    return this.attempt(offset, accept, () => applyFact(this, fact, clock, offset));
  }

  /**
   * Applies a block's time. Orders expire, leave the router's feed, or come back because the window of a cap has
   * passed. They are removed if their maker's switch is due, or if the chain's nonce has not reached theirs. Nothing
   * happens before `dueAtSeconds`, so earlier blocks may be left out.
   * @param clock of the partition, with the block
   * @param offset of its `BlockProcessed`
   */
  advance(clock: LogClock, offset: bigint, accept?: Accept): readonly Transition[] {
    if (clock.seconds < this.dueAtSeconds) return [];
    return this.attempt(offset, accept, () => {
      let dueAtSeconds = Number.POSITIVE_INFINITY;
      for (const order of [...this.orders.values()]) {
        if (clock.seconds >= expirySeconds(order)) this.remove(order, 'EXPIRED');
        else if (this.isCutOff(order, clock)) this.remove(order, 'CANCELLED');
        else if (this.isAhead(order) && clock.seconds * 1000 >= order.acceptedAtMs) this.remove(order, 'NONCE_CHANGED');
        else {
          const isToLeave = order.inBook && clock.seconds >= routableUntilSeconds(order, this.rules);
          const next = isToLeave ? this.withhold(order, 'GRACE_PERIOD') : this.recap(order, clock);
          dueAtSeconds = Math.min(dueAtSeconds, this.dueAt(next));
        }
      }
      this.dueAtSeconds = dueAtSeconds;
    });
  }

  /**
   * Marks all open orders as unread, because nobody knows what happened meanwhile. They come back into the book as they
   * are read. The next block looks at all of them. The list gets a new version, because nobody has seen its present
   * state.
   * @param clock of the partition
   */
  release({ offset, clock }: FactPoint, accept?: Accept): readonly Transition[] {
    return this.attempt(offset, accept, () => {
      this.listVersion = offset;
      this.dueAtSeconds = 0;
      for (const order of [...this.orders.values()]) {
        const unread = this.hide({ ...order, isObserved: false, waitsFor: undefined });
        this.change(unread, ['RELEASED'], clock);
      }
    });
  }

  /** Puts the maker in quarantine: all orders leave the book, and nothing is due. */
  quarantine(offset: bigint): readonly Transition[] {
    return this.attempt(offset, undefined, () => {
      for (const order of [...this.orders.values()]) if (order.inBook) this.withhold(order, 'QUARANTINED');
      this.dueAtSeconds = Number.POSITIVE_INFINITY;
    });
  }
}
