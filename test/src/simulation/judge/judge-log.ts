import { isUnfoldable, PartitionFold } from '@makerbook/chain-watcher/testing';
import type { MakerEvent } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { RemovalReason, Transition } from '@makerbook/domain';
import type { SignedOrder } from '../chain/act-on-chain.js';
import { CountedFills } from './judge-caps.js';
import { CutOffOrders } from './judge-exits.js';
import { mayEndBy, stateAt, stateOf, type Truth, whyNotActive } from './judge-order.js';

export interface JudgeOptions extends Truth {
  readonly orders: readonly SignedOrder[];
  /** The facts of each partition, with their offsets. */
  readonly partitions: readonly Iterable<readonly [offset: bigint, fact: MakerEvent]>[];
  /** Up to this block one watcher followed the blocks one by one, so every state is right after each block. */
  readonly steadyTo: number;
  /** True if silent changes are known at the end. */
  readonly isSwept: boolean;
}

export interface Verdict {
  readonly wrong: readonly string[];
  /** How often an order rightly became ACTIVE, or was rightly ACTIVE when a block was processed. */
  readonly held: number;
  /** How often a cap had to withhold an order after a fact. */
  readonly capped: number;
}

/**
 * Folds the whole log as the projector does, and compares every step with the chain, whichever watcher wrote it. At
 * the end, when nothing has happened for long, every order must be what the chain says.
 */
export function judgeLog(options: JudgeOptions): Verdict {
  const tally = { held: 0, capped: 0 };
  const wrong = options.partitions.flatMap((facts) => {
    const partition = new JudgedPartition(options, tally);
    for (const [offset, fact] of facts) partition.take(offset, fact);
    return partition.end();
  });
  return { wrong, ...tally };
}

class JudgedPartition {
  readonly #options: JudgeOptions;
  readonly #tally: { held: number; capped: number };
  readonly #signed: ReadonlyMap<Hex, SignedOrder>;
  readonly #fold: PartitionFold;
  readonly #wrong: string[] = [];
  readonly #posted = new Set<Hex>();
  readonly #deleted = new Set<Hex>();
  readonly #cutOff = new CutOffOrders();
  readonly #counted: CountedFills;
  /** Makers who were in quarantine. What was read meanwhile counts once they are released. */
  readonly #wereQuarantined = new Set<Address>();
  readonly #removed = new Map<Hex, RemovalReason>();
  /** The newest block that each maker was read at. It may be ahead of the processed blocks. */
  readonly #readAt = new Map<Address, number>();
  /** Makers whom an operator has suspended or removed. */
  readonly #barred = new Set<Address>();
  /** ACTIVE orders in the book, with the offset of the fact that made them ACTIVE. */
  readonly #active = new Map<Hex, bigint>();

  constructor(options: JudgeOptions, tally: { held: number; capped: number }) {
    this.#options = options;
    this.#tally = tally;
    this.#fold = new PartitionFold({ routingGraceSeconds: options.graceSeconds });
    this.#signed = new Map(options.orders.map((order) => [order.hash, order]));
    this.#counted = new CountedFills(options, (hash) => this.#signed.get(hash)?.token);
  }

  take(offset: bigint, fact: MakerEvent): void {
    if (fact.type === 'OrderSubmitted' && !isUnfoldable(fact)) this.#posted.add(fact.orderHash);
    if (fact.type === 'OrderCancelled') this.#deleted.add(fact.orderHash);
    const cutOff = isUnfoldable(fact) ? [] : this.#cutOff.take(fact);
    for (const orderHash of cutOff) this.#deleted.add(orderHash);
    if (fact.type === 'MakerSuspended' || fact.type === 'MakerRemoved') this.#barred.add(fact.maker);
    if (fact.type === 'MakerAdmitted') this.#barred.delete(fact.maker);
    this.#counted.take(fact);
    const { block: before } = this.#fold.clock;
    if (fact.type === 'MakerObserved' && fact.block.number < before) {
      this.#wrong.push(`the reading at ${offset} of block ${fact.block.number} comes after block ${before}`);
    }
    if (fact.type === 'MakerObserved') {
      this.#readAt.set(fact.maker, Math.max(fact.block.number, this.#readAt.get(fact.maker) ?? 0));
    }
    for (const transition of this.#fold.apply(fact, offset)) this.#note(transition, fact);
    for (const hash of cutOff) {
      const open = this.#fold.find(hash);
      if (open !== undefined && !this.#fold.isQuarantined(open.order.order.maker)) {
        this.#report(hash, `is open at ${offset}, and its maker has cancelled all`);
      }
    }
    if ('maker' in fact && this.#fold.isQuarantined(fact.maker)) this.#wereQuarantined.add(fact.maker);
    if ('maker' in fact) this.#judgeBook(fact.maker, offset);
    if ('maker' in fact || fact.type === 'BlockProcessed')
      this.#judgeCaps('maker' in fact ? fact.maker : undefined, offset);
    if (this.#fold.clock.block > before) this.#endBlock(this.#fold.clock.block, offset);
  }

  end(): readonly string[] {
    const { chain, protocol, graceSeconds, isSilent } = this.#options;
    for (const hash of this.#posted) {
      const signed = this.#signedBy(hash);
      const known = this.#fold.find(hash);
      const reason = this.#removed.get(hash);
      const says = known === undefined ? (reason ?? 'nothing') : stateOf(known.order);
      const expected = this.#deleted.has(hash) ? 'deleted' : stateAt(signed, protocol, chain.head);
      const isRightlyGone = reason === 'CANCELLED' ? this.#deleted.has(hash) : mayEndBy(signed, reason, this.#options);
      const isUnknown = isSilent(signed.token) && !this.#options.isSwept && !['deleted', 'gone'].includes(expected);
      if (known === undefined ? !isRightlyGone : says !== expected && !isUnknown) {
        this.#report(hash, `ends as ${says}, but is ${expected}`);
      }
      const isRead = known !== undefined && known.order.state.status !== 'VALIDATING';
      const isDue = isRead && signed.expiresAt - graceSeconds > this.#fold.clock.seconds;
      if (isDue && !known.order.inBook && this.#counted.until(signed.maker, signed.token) === 0)
        this.#report(hash, 'is not in the book in the end');
    }
    const last = this.#fold.clock.block;
    const head = chain.head.header.number;
    if (last !== head) this.#wrong.push(`the last block is ${last}, not ${head}`);
    return this.#wrong;
  }

  #note(transition: Transition, fact: MakerEvent): void {
    if (!('order' in transition)) return;
    const { orderHash, state } = transition.order;
    this.#active.delete(orderHash);
    if (transition.kind === 'OrderRemoved') this.#removed.set(orderHash, transition.reason);
    if (transition.kind === 'OrderRemoved' || transition.kind === 'OrderWithheld') return;
    if (state.status !== 'ACTIVE' || !transition.order.inBook) return;
    this.#active.set(orderHash, transition.offset);
    const block = Math.max(0, this.#fold.clock.block);
    const why = this.#whyNot(orderHash, block, 'block' in fact ? fact.block.number : 0);
    if (why !== undefined) {
      this.#report(orderHash, `became ACTIVE (${transition.offset}) with block ${block} processed, but ${why}`);
    }
  }

  /** No order of a maker that the log has suspended or removed is in the book. */
  #judgeBook(maker: Address, offset: bigint): void {
    if (!this.#barred.has(maker)) return;
    for (const { orderHash, order, inBook } of this.#fold.openOrders()) {
      if (inBook && order.maker === maker)
        this.#report(orderHash, `is in the book at ${offset}, and its maker may not trade`);
    }
  }

  /** Caps withhold exactly the orders that they should. @param whose undefined for all makers */
  #judgeCaps(whose: Address | undefined, offset: bigint): void {
    for (const { orderHash, order, inBook, cappedUntil } of this.#fold.openOrders()) {
      const { maker, making } = order;
      if (whose !== undefined && maker !== whose) continue;
      if (this.#wereQuarantined.has(maker)) continue;
      const until = this.#counted.until(maker, making.token);
      if (cappedUntil !== until) this.#report(orderHash, `is capped until ${cappedUntil} at ${offset}, not ${until}`);
      if (until > 0) this.#tally.capped += 1;
      if (until > 0 && inBook) this.#report(orderHash, `is in the book at ${offset}, and capped until ${until}`);
    }
  }

  /** Every order that is ACTIVE now is right for this block. */
  #endBlock(number: number, offset: bigint): void {
    for (const [hash, since] of this.#active) {
      const why = this.#whyNot(hash, number);
      if (why === undefined) continue;
      this.#report(hash, `was ACTIVE (${since}) with block ${number} processed (${offset}), but ${why}`);
    }
    const { steadyTo, isSilent, protocol, chain } = this.#options;
    if (number > steadyTo) return;
    for (const order of this.#fold.openOrders()) {
      const signed = this.#signedBy(order.orderHash);
      if (order.state.status === 'VALIDATING' || isSilent(signed.token)) continue;
      if (this.#fold.isQuarantined(signed.maker)) continue;
      const block = Math.max(number, this.#readAt.get(signed.maker) ?? 0);
      const expected = stateAt(signed, protocol, chain.at(block), chain.at(number).header.timestamp);
      if (stateOf(order) === expected) continue;
      this.#report(order.orderHash, `is ${stateOf(order)} after block ${number} (${offset}), but ${expected}`);
    }
  }

  #whyNot(hash: Hex, block: number, readBlock?: number): string | undefined {
    const known = this.#fold.find(hash);
    if (known === undefined) return 'it is gone';
    const given = { block, ...(readBlock === undefined ? {} : { readBlock }) };
    const why = whyNotActive(this.#signedBy(hash), known, this.#options, given);
    if (why === undefined) this.#tally.held += 1;
    return why;
  }

  #report(hash: Hex, text: string): void {
    this.#wrong.push(`${this.#signedBy(hash).label} ${text}`);
  }

  #signedBy(hash: Hex): SignedOrder {
    const signed = this.#signed.get(hash);
    if (signed === undefined) throw new Error(`nobody has signed ${hash}`);
    return signed;
  }
}
