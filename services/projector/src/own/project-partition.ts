import { setTimeout as pause } from 'node:timers/promises';
import { type BlockProcessed, isClockEvent, type QuarantineLifted } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import { advanceLog } from '@makerbook/domain';
import type { LogRecord, StoredRecord } from '@makerbook/kafka';
import {
  advanceMaker,
  beginFact,
  endBlock,
  foldMakerFact,
  foldTerm,
  isMakerFact,
  type Logged,
  moveTo,
} from '../fold/fold-facts.js';
import { findDue, isLoaded, type LoadParts, loadFacts, loadMakers } from '../fold/load-facts.js';
import type { LoggedFact } from '../fold/read-facts.js';
import { releaseMaker } from '../fold/release-makers.js';
import { readRange } from './read-range.js';
import type { OwningParts, TakenPartition } from './take-partition.js';

export interface ProjectionParts extends OwningParts {
  /** Facts that are folded together, and read at once. */
  readonly batchFactsMax: number;
  /** Bounds on what is folded and not being committed: then the fold waits. */
  readonly commitTransitionsMax: number;
  readonly commitFactsMax: number;
  /** Reads a record of the log; undefined where it cannot be read, and was parked. */
  readonly readFact: (record: StoredRecord) => LoggedFact | undefined;
  readonly published: (messages: number, tookMs: number) => void;
  /** What these facts led to is on the feeds, and was not before. */
  readonly fed: (facts: readonly LoggedFact[]) => void;
  /** Readings of makers that are under way at once, of all partitions of the process. */
  readonly reads: LoadParts['reads'];
}

/** What the handling of a batch may ask of the consumer loop. */
export interface BatchHold {
  /** Throws when the partition is no longer this process's. */
  readonly heartbeat: () => void;
  readonly park: (record: StoredRecord, reason: string) => Promise<void>;
}

/** The flow of one partition: fold the facts, publish what they lead to, and have the rows committed behind it. */
export class PartitionProjection {
  readonly #taken: TakenPartition;
  readonly #parts: ProjectionParts;
  readonly #load: LoadParts;

  constructor(taken: TakenPartition, refused: ReadonlyMap<Address, string>, parts: ProjectionParts) {
    this.#taken = taken;
    this.#parts = parts;
    const { committer } = taken;
    this.#load = {
      postgres: parts.postgres,
      reads: parts.reads,
      refused,
      uncommitted: () => committer.uncommitted(),
      verifyRows: () => committer.verifyRows(),
      dueOrdersMax: parts.commitTransitionsMax,
    };
  }

  get taken(): TakenPartition {
    return this.#taken;
  }

  /** The next fact to be folded. */
  get position(): bigint {
    return this.#taken.state.next.offset;
  }

  /**
   * Folds the facts and publishes what they lead to. The rows follow.
   * @param facts from the position on
   * @param nextOffset behind them
   */
  async project(facts: readonly LoggedFact[], nextOffset: bigint, hold: BatchHold): Promise<void> {
    const { state, committer } = this.#taken;
    committer.assertGood();
    hold.heartbeat();
    committer.hold();
    await loadFacts(state, facts, this.#load);
    for (const [index, logged] of facts.entries()) {
      await this.#fold(logged, hold);
      // A release has read what it needed of other facts.
      if (logged.fact.type === 'QuarantineLifted') await loadFacts(state, facts.slice(index + 1), this.#load);
      if (this.#isFull()) await this.#publishAndGoOn(hold);
    }
    moveTo(state, nextOffset);
    await this.#publish(hold);
    const { published } = state.rules;
    this.#parts.fed(facts.filter(({ offset }) => published === undefined || offset > published.offset));
    this.#evict();
  }

  /** Folds the log from the position to the offset: facts that were given before, and whose rows are not committed. */
  async catchUp(offset: bigint, hold: BatchHold): Promise<void> {
    const { readFact } = this.#parts;
    await this.#readLog(this.position, offset, hold, async (records) => {
      const last = records.at(-1);
      if (last !== undefined)
        await this.project(
          records.flatMap((record) => readFact(record) ?? []),
          last.offset + 1n,
          hold,
        );
    });
    if (this.position < offset) await this.project([], offset, hold);
  }

  /** Waits until all that was folded is committed. */
  async flush(hold: Pick<BatchHold, 'heartbeat'>): Promise<void> {
    const { committer } = this.#taken;
    for (committer.offerAll(); committer.underWay !== undefined; committer.offerAll()) {
      await this.#waitFor(committer.underWay, hold);
    }
    committer.assertGood();
  }

  /** Gives the partition up. In good order, all that was published is committed where one try is enough. */
  async close(isInOrder: boolean): Promise<void> {
    const { committer, publisher } = this.#taken;
    await (isInOrder ? committer.leave() : committer.close());
    await publisher.close();
  }

  async #fold(logged: LoggedFact, hold: BatchHold): Promise<void> {
    const { state } = this.#taken;
    const { fact } = logged;
    if (fact.type === 'BlockProcessed') return this.#foldBlock({ ...logged, fact }, hold);
    if (isClockEvent(fact)) return foldTerm(state, { ...logged, fact });
    if (fact.type === 'QuarantineLifted') return this.#release({ ...logged, fact }, hold);
    if (!isLoaded(state, fact.maker)) {
      await loadMakers(state, [fact.maker], this.#load);
      await this.#load.verifyRows();
    }
    if (isMakerFact(logged)) foldMakerFact(state, logged);
  }

  async #foldBlock(block: Logged<BlockProcessed>, hold: BatchHold): Promise<void> {
    const { state } = this.#taken;
    const clock = advanceLog(state.clock, block.fact);
    const feed = beginFact(state, block);
    if (clock.block > state.clock.block) {
      for await (const maker of findDue(state, clock.seconds, this.#load, () => this.#evict())) {
        advanceMaker(state, maker, clock, block, feed);
        if (this.#isFull()) await this.#publishAndGoOn(hold);
      }
    }
    endBlock(state, clock, block, feed);
  }

  async #release(logged: Logged<QuarantineLifted>, hold: BatchHold): Promise<void> {
    const { state, committer } = this.#taken;
    if (state.quarantined.has(logged.fact.maker)) {
      await this.#publish(hold);
      await this.flush(hold);
      committer.hold();
    }
    const { readFact } = this.#parts;
    await releaseMaker(state, logged, {
      ...this.#load,
      readFacts: (from, to, onFacts) =>
        this.#readLog(from, to, hold, (records) => onFacts(records.flatMap((record) => readFact(record) ?? []))),
    });
  }

  #isFull(): boolean {
    const { transitions, facts } = this.#taken.state.gathered;
    return transitions >= this.#parts.commitTransitionsMax || facts >= this.#parts.commitFactsMax;
  }

  /** Publishes what was folded, and has it committed; waits while too much is waiting for that. */
  async #publish(hold: BatchHold): Promise<void> {
    const { state, committer, publisher } = this.#taken;
    const { partition } = state.rules;
    const { nowMs, onStep, published } = this.#parts;
    hold.heartbeat();
    for (const { record, reason } of state.toPark.splice(0)) await hold.park(record, reason);
    const messages = state.unpublished.splice(0);
    if (messages.length > 0) {
      await onStep?.('before publish', partition);
      const startedAtMs = nowMs();
      for (const some of inTransactions(messages)) await publisher.publish(some);
      published(messages.length, nowMs() - startedAtMs);
      await onStep?.('after publish', partition);
    }
    committer.offer();
    while (this.#isFull() && committer.underWay !== undefined) await this.#waitFor(committer.underWay, hold);
    committer.assertGood();
  }

  /** The same in the middle of what is being folded. */
  async #publishAndGoOn(hold: BatchHold): Promise<void> {
    await this.#publish(hold);
    this.#taken.committer.hold();
  }

  async #waitFor(done: Promise<void>, hold: Pick<BatchHold, 'heartbeat'>): Promise<void> {
    const waiting = new AbortController();
    const isDone = done.then(() => true);
    try {
      while (!(await Promise.race([isDone, pause(heartbeatMs, false, { signal: waiting.signal })]))) hold.heartbeat();
    } finally {
      waiting.abort();
    }
  }

  #readLog(
    from: bigint,
    to: bigint,
    hold: BatchHold,
    onRecords: (records: readonly StoredRecord[]) => Promise<void>,
  ): Promise<void> {
    const { log, topics, batchFactsMax } = this.#parts;
    const { partition } = this.#taken.state.rules;
    return readRange(log, { topic: topics.makerEvents, partition, from, to }, batchFactsMax, hold.heartbeat, onRecords);
  }

  /** Drops makers from memory where there are too many. */
  #evict(): void {
    const { state, committer } = this.#taken;
    const dueAtSeconds = state.makers.evict((maker) => committer.isPinned(maker));
    state.storedDueSeconds = Math.min(state.storedDueSeconds, dueAtSeconds);
  }
}

const heartbeatMs = 500;

/** What one transaction should never hold is cut, in order: the feeds end at any message. */
const transactionBytesMax = 16 * 1024 * 1024;

function inTransactions(records: readonly LogRecord[]): LogRecord[][] {
  let some: LogRecord[] = [];
  const all = [some];
  let bytes = 0;
  for (const record of records) {
    const size = record.key.length + (record.value?.length ?? 0) + 512;
    if (some.length > 0 && bytes + size > transactionBytesMax) {
      some = [];
      all.push(some);
      bytes = 0;
    }
    some.push(record);
    bytes += size;
  }
  return all;
}
