import type { BlockProcessed, QuarantineLifted } from '@makerbook/contracts-events';
import { advanceLog } from '@makerbook/domain';
import type { BatchContext } from '@makerbook/kafka';
import { inSendSpan } from '@makerbook/telemetry';
import {
  advanceMaker,
  beginFact,
  endBlock,
  endFact,
  foldMakerFact,
  foldMode,
  isMakerFact,
  type Logged,
  moveTo,
} from '../fold/fold-facts.js';
import { isLoaded, type LoadParts, loadFacts, loadMakers } from '../fold/load-facts.js';
import { type LoggedFact, readFacts } from '../fold/read-facts.js';
import { releaseMaker } from '../fold/release-makers.js';
import { readRange } from './read-range.js';
import type { OwningParts, TakenPartition } from './take-partition.js';

export interface ProjectionParts extends OwningParts {
  /** Facts that are folded together, and read at once. */
  readonly batchFactsMax: number;
  /** Bounds on what is folded and not being committed: then the fold waits. */
  readonly commitTransitionsMax: number;
  readonly commitFactsMax: number;
  /** How many partitions the topic has. */
  readonly partitions: number;
  /** Readings of makers that are under way at once, of all partitions of the process. */
  readonly reads: LoadParts['reads'];
}

/** The flow of one partition: fold the facts, publish what they lead to, and have the rows committed behind it. */
export class PartitionProjection {
  readonly taken: TakenPartition;
  readonly #parts: ProjectionParts;
  readonly #load: LoadParts;

  constructor(taken: TakenPartition, parts: ProjectionParts) {
    this.taken = taken;
    this.#parts = parts;
    this.#load = { store: parts.store, reads: parts.reads, committer: taken.committer };
  }

  /** The next fact to be folded. */
  get position(): bigint {
    return this.taken.state.nextOffset;
  }

  /**
   * Folds the facts and publishes what they lead to. The rows follow.
   * @param facts from the position on
   * @param nextOffset behind them
   */
  async project(facts: readonly LoggedFact[], nextOffset: bigint, hold: BatchContext): Promise<void> {
    const { state, committer } = this.taken;
    committer.assertGood();
    hold.assertOwned();
    await loadFacts(state, facts, this.#load);
    for (const logged of facts) {
      await this.#fold(logged, hold);
      if (this.#isFull()) await this.#publish(hold);
    }
    moveTo(state, nextOffset);
    await this.#publish(hold);
    const { published } = state.rules;
    this.#parts.meters.fed?.(facts.filter(({ offset }) => published === undefined || offset > published.offset));
    this.#evict();
  }

  /** Folds the log from the position to the offset: facts that were given before, and whose rows are not committed. */
  async catchUp(offset: bigint, hold: BatchContext): Promise<void> {
    await this.#readLog(this.position, offset, hold, (facts, nextOffset) => this.project(facts, nextOffset, hold));
    if (this.position < offset) await this.project([], offset, hold);
  }

  /** Gives the partition up. In good order, all that was published is committed where one try is enough. */
  async close(isInOrder: boolean): Promise<void> {
    const { committer, publisher } = this.taken;
    await (isInOrder ? committer.leave() : committer.close());
    await publisher.close();
  }

  async #fold(logged: LoggedFact, hold: BatchContext): Promise<void> {
    const { state } = this.taken;
    const { fact } = logged;
    if (fact.type === 'BlockProcessed') return this.#foldBlock({ ...logged, fact }, hold);
    // It concerns the other chain-watchers alone.
    if (fact.type === 'WatcherResigned') return endFact(state, logged);
    if (fact.type === 'ServiceModeSet') return foldMode(state, { ...logged, fact });
    if (fact.type === 'QuarantineLifted') return this.#release({ ...logged, fact }, hold);
    if (!isLoaded(state, fact.maker)) await loadMakers(state, new Set([fact.maker]), this.#load);
    if (isMakerFact(logged)) foldMakerFact(state, logged);
  }

  async #foldBlock(block: Logged<BlockProcessed>, hold: BatchContext): Promise<void> {
    const { state } = this.taken;
    const clock = advanceLog(state.clock, block.fact);
    const feed = beginFact(state, block);
    if (clock.block > state.clock.block) {
      for (const group of state.due.groupsAt(clock.seconds, this.#parts.commitTransitionsMax)) {
        await loadMakers(state, new Set(group), this.#load);
        for (const maker of group) {
          advanceMaker(state, maker, clock, block, feed);
          if (this.#isFull()) await this.#publish(hold);
        }
        this.#evict();
      }
    }
    endBlock(state, clock, block, feed);
  }

  #release(logged: Logged<QuarantineLifted>, hold: BatchContext): Promise<void> {
    return releaseMaker(this.taken.state, logged, {
      ...this.#load,
      readFacts: (from, to, onFacts) => this.#readLog(from, to, hold, onFacts),
    });
  }

  #isFull(): boolean {
    const { transitions, facts } = this.taken.state.gathered;
    return transitions >= this.#parts.commitTransitionsMax || facts >= this.#parts.commitFactsMax;
  }

  /** Publishes what was folded, and has it committed; waits while too much is waiting for that. */
  async #publish(hold: BatchContext): Promise<void> {
    const { state, committer, publisher } = this.taken;
    const { partition } = state.rules;
    const { meters, onStep } = this.#parts;
    hold.assertOwned();
    for (const { record, reason } of state.toPark) await hold.park(record, reason);
    state.toPark.length = 0;
    if (state.unpublished.length > 0) {
      await onStep?.('before publish', partition);
      const startedAtMs = performance.now();
      const { unpublished } = state;
      const attributes = { 'messaging.destination.partition.id': String(partition) };
      await inSendSpan(this.#parts.topics.book, unpublished.length, attributes, () => publisher.publish(unpublished));
      meters.published?.(unpublished.length, performance.now() - startedAtMs);
      await onStep?.('after publish', partition);
      state.unpublished.length = 0;
    }
    committer.begin();
    while (this.#isFull() && committer.underWay !== undefined) await this.#waitFor(committer.underWay, hold);
    committer.assertGood();
  }

  /** Waits for the work, and throws where the partition is given to another process meanwhile. */
  async #waitFor(work: Promise<void>, hold: Pick<BatchContext, 'assertOwned'>): Promise<void> {
    const waiting = new AbortController();
    let isDone = false;
    const end = work.then(() => {
      isDone = true;
    });
    try {
      for (;;) {
        await Promise.race([end, this.#parts.wait(OWNED_CHECK_MS, waiting.signal)]);
        if (isDone) return;
        hold.assertOwned();
      }
    } finally {
      waiting.abort();
    }
  }

  /** Reads facts that were given before; what cannot be read was parked then. */
  async #readLog(
    from: bigint,
    to: bigint,
    hold: BatchContext,
    onFacts: (facts: readonly LoggedFact[], nextOffset: bigint) => Promise<void>,
  ): Promise<void> {
    const { log, topics, batchFactsMax, partitions } = this.#parts;
    const { partition } = this.taken.state.rules;
    const reading = new AbortController();
    const range = { topic: topics.makerEvents, partition, from, to };
    const work = readRange(log, range, batchFactsMax, reading.signal, (records, nextOffset) =>
      onFacts(readFacts(records, partitions), nextOffset),
    );
    try {
      await this.#waitFor(work, hold);
    } finally {
      reading.abort();
      await work.catch(() => undefined);
    }
  }

  /** Drops makers from memory where there are too many. */
  #evict(): void {
    const { state, committer } = this.taken;
    state.makers.evict((maker) => committer.isPinned(maker));
  }
}

const OWNED_CHECK_MS = 500;
