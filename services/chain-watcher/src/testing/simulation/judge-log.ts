import { decodeMakerEvent, type MakerEvent } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-evm';
import type { RemovalReason, Transition } from '@makerbook/domain';
import { type Fold, openFold } from './fold-log.js';
import type { HeldRecord } from './hold-log.js';
import { isOfDifferentBlocks, mayEndBy, stateAt, stateOf, whyNotActive } from './judge-order.js';
import type { Chain } from './keep-chain.js';
import { SILENT, type SignedOrder } from './place-orders.js';

export interface JudgeOptions {
  readonly chain: Chain;
  readonly orders: readonly SignedOrder[];
  readonly partitions: readonly (readonly HeldRecord[])[];
  /** One watcher followed the blocks one by one: then every state is right after each of them, and changes once. */
  readonly isSteady: boolean;
  /** Several watchers may have been in different blocks: what they say together may be so at none. */
  readonly isOfSeveral: boolean;
  /** What changes silently is known at the end. */
  readonly isSwept: boolean;
  /** Watchers may have caught up at the head: of several, one may then have said less of a block than the log lacked. */
  readonly mayCatchUp: boolean;
}

export interface Verdict {
  readonly wrong: readonly string[];
  /** How often the router was told ACTIVE, or knew it when a block was processed, and it was so. */
  readonly held: number;
  /** How often it was not so, as watchers in different blocks had read it. */
  readonly mixed: number;
  /** How often it was not so with a block that one of several had caught up to, and put right with the next one. */
  readonly late: number;
  /** How often it was told ACTIVE by facts of a batch whose block took it back. */
  readonly takenBack: number;
  /** How many orders ended in each state. */
  readonly ends: Readonly<Record<string, number>>;
}

/**
 * Folds the whole log, as the projector does, and holds all that it says on the way to the chain, whoever wrote it. At the
 * end, when nothing has happened for long, every order must be what the chain says.
 */
export function judgeLog(options: JudgeOptions): Verdict {
  const tally = { held: 0, mixed: 0, late: 0, takenBack: 0 };
  const ends: Record<string, number> = {};
  const wrong = options.partitions.flatMap((records) => {
    const partition = new JudgedPartition(options, tally);
    for (const record of records) partition.take(record);
    return partition.end(ends);
  });
  return { wrong, ...tally, ends };
}

class JudgedPartition {
  private readonly options: JudgeOptions;
  private readonly tally: { held: number; mixed: number; late: number; takenBack: number };
  private readonly signed: ReadonlyMap<Hex, SignedOrder>;
  private readonly fold: Fold = openFold();
  private readonly wrong: string[] = [];
  private readonly posted = new Set<Hex>();
  private readonly deleted = new Set<Hex>();
  private readonly removed = new Map<Hex, RemovalReason>();
  /** Orders that the router takes for ACTIVE, and by which fact. */
  private readonly active = new Map<Hex, bigint>();
  /** What was not so with the last block. */
  private late = new Set<Hex>();
  private batch = -1;
  /** What was told by the batch at hand and was not so, and what changed by it. */
  private doubtful = new Map<Hex, string>();
  private changed = new Set<Hex>();

  constructor(options: JudgeOptions, tally: JudgedPartition['tally']) {
    this.options = options;
    this.tally = tally;
    this.signed = new Map(options.orders.map((order) => [order.hash, order]));
  }

  take(record: HeldRecord): void {
    if (record.batch !== this.batch) this.endBatch();
    this.batch = record.batch;
    const fact = decodeMakerEvent(record);
    if ('unreadable' in fact) throw new Error(fact.unreadable);
    if (fact.type === 'OrderSubmitted') this.posted.add(fact.orderHash);
    if (fact.type === 'OrderCancelled') this.deleted.add(fact.orderHash);
    const before = this.fold.processedBlock();
    for (const transition of this.fold.apply(fact, record.offset)) this.hear(transition, fact, before);
    if (fact.type === 'BlockProcessed' && fact.block.number > before) this.endBlock(fact.block.number, record.offset);
  }

  end(ends: Record<string, number>): readonly string[] {
    this.endBatch();
    const { chain } = this.options;
    for (const hash of this.posted) {
      const signed = this.signedBy(hash);
      const known = this.fold.find(hash);
      const reason = this.removed.get(hash);
      const says = known === undefined ? (reason ?? 'nothing') : stateOf(known.order);
      const expected = this.deleted.has(hash) ? 'deleted' : stateAt(signed, chain.head);
      const isRightlyGone = reason === 'CANCELLED' ? this.deleted.has(hash) : mayEndBy(signed, reason, chain);
      const isUnknown = signed.token === SILENT && !this.options.isSwept && !['deleted', 'gone'].includes(expected);
      if (known === undefined ? !isRightlyGone : says !== expected && !isUnknown) {
        this.say(hash, `ends as ${says}, but is ${expected}`);
      }
      const [kind = ''] = says.split(' ');
      ends[kind] = (ends[kind] ?? 0) + 1;
    }
    const last = this.fold.processedBlock();
    if (last !== chain.head.header.number)
      this.wrong.push(`the last block is ${last}, not ${chain.head.header.number}`);
    return this.wrong;
  }

  private hear(transition: Transition, fact: MakerEvent, processed: number): void {
    if (!('order' in transition) || transition.kind === 'OrderObserved') return;
    const { orderHash, state, inBook } = transition.order;
    this.active.delete(orderHash);
    if (transition.kind === 'OrderRemoved') this.removed.set(orderHash, transition.reason);
    if (transition.kind !== 'OrderChanged' || !inBook) return;
    if (this.options.isSteady && this.changed.has(orderHash))
      this.say(orderHash, `changed twice at ${transition.offset}`);
    this.changed.add(orderHash);
    if (state.status !== 'ACTIVE') return;
    this.active.set(orderHash, transition.offset);
    const why = this.whyNot(orderHash, Math.max(0, processed), 'block' in fact ? fact.block.number : 0);
    if (why === undefined) return;
    this.doubtful.set(
      orderHash,
      `was told ACTIVE (${transition.offset}) with block ${processed} processed, but ${why}`,
    );
  }

  /** What the router has been told by now is good for this block. */
  private endBlock(number: number, offset: bigint): void {
    const before = this.late;
    this.late = new Set();
    for (const [hash, toldAt] of this.active) {
      const why = this.fold.find(hash)?.isJudged === false ? undefined : this.whyNot(hash, number);
      if (why === undefined) continue;
      const isLate = this.options.isOfSeveral && this.options.mayCatchUp && !before.has(hash);
      if (isLate) this.late.add(hash);
      if (isLate) this.tally.late += 1;
      else this.say(hash, `was known ACTIVE (${toldAt}) with block ${number} processed (${offset}), but ${why}`);
    }
    if (!this.options.isSteady) return;
    for (const order of this.fold.openOrders()) {
      const signed = this.signedBy(order.orderHash);
      if (order.state.status === 'VALIDATING' || signed.token === SILENT) continue;
      const expected = stateAt(signed, this.options.chain.at(number));
      if (stateOf(order) === expected) continue;
      this.say(order.orderHash, `is ${stateOf(order)} after block ${number} (${offset}), but ${expected}`);
    }
  }

  private endBatch(): void {
    for (const [hash, why] of this.doubtful) {
      if (this.options.isOfSeveral && !this.active.has(hash)) this.tally.takenBack += 1;
      else this.say(hash, why);
    }
    this.doubtful = new Map();
    this.changed = new Set();
  }

  private whyNot(hash: Hex, block: number, readBlock?: number): string | undefined {
    const signed = this.signedBy(hash);
    const { chain, isOfSeveral } = this.options;
    const known = this.fold.find(hash);
    if (known === undefined) return 'it is gone';
    const why = whyNotActive(signed, known, { chain, block, ...(readBlock === undefined ? {} : { readBlock }) });
    if (why === undefined) this.tally.held += 1;
    else if (isOfSeveral && isOfDifferentBlocks(signed, known, chain, block)) this.tally.mixed += 1;
    else return why;
    return undefined;
  }

  private say(hash: Hex, text: string): void {
    this.wrong.push(`${this.signedBy(hash).label} ${text}`);
  }

  private signedBy(hash: Hex): SignedOrder {
    const signed = this.signed.get(hash);
    if (signed === undefined) throw new Error(`nobody has signed ${hash}`);
    return signed;
  }
}
