import type { BlockProcessed } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import { advanceLog } from '@makerbook/domain';
import { type BatchContext, nameLog } from '@makerbook/kafka';
import { inSendSpan } from '@makerbook/telemetry';
import {
  advanceMaker,
  beginFact,
  endBlock,
  endFact,
  foldMakerFact,
  foldMode,
  type Logged,
  moveTo,
} from '../fold/fold-facts.js';
import { cutFacts, loadFacts, loadMakers, sizeOnceRead } from '../fold/load-facts.js';
import { type LoggedFact, readFacts } from '../fold/read-facts.js';
import { type FactsOfLog, releaseMaker } from '../fold/release-makers.js';
import type { ProjectorParts } from '../parts.js';
import type { TakenPartition } from './take-partition.js';

const OWNED_CHECK_MS = 500;

/**
 * The flow of one partition: folds the facts, publishes their messages, and has the rows committed behind the feeds.
 */
export class PartitionProjection {
  readonly taken: TakenPartition;
  readonly #parts: ProjectorParts;

  constructor(taken: TakenPartition, parts: ProjectorParts) {
    this.taken = taken;
    this.#parts = parts;
  }

  /** The offset of the next fact to fold. */
  get position(): bigint {
    return this.taken.state.nextOffset;
  }

  /**
   * Folds the facts and publishes their messages. The rows follow.
   * @param facts begin at the position
   * @param nextOffset the offset after them
   */
  async project(facts: readonly LoggedFact[], nextOffset: bigint, context: BatchContext): Promise<void> {
    const { state, committer } = this.taken;
    committer.assertGood();
    context.assertOwned();
    for (const part of cutFacts(state, facts)) {
      // Begin to commit what is folded: that makes room for the other makers.
      if (part.facts[0] !== facts[0]) await this.#publish(context);
      await this.#makeRoom(part.makers, context);
      await loadFacts(state, part, committer);
      for (const logged of part.facts) {
        await this.#fold(logged, context);
        if (this.#isFull()) await this.#publish(context);
      }
    }
    moveTo(state, nextOffset);
    await this.#publish(context);
    this.#parts.meters.fed?.(facts.filter(this.#isNew));
    this.#evict(0);
  }

  /** Folds the log from the position to the offset: facts that were given before, and whose rows are not committed. */
  async catchUp(offset: bigint, context: BatchContext): Promise<void> {
    const log = this.#readLog(this.position, offset, context);
    for await (const { facts, nextOffset } of log) await this.project(facts, nextOffset, context);
  }

  /** Gives the partition up. If `isInOrder`, it tries once to commit all that was published. */
  async close(isInOrder: boolean): Promise<void> {
    const { committer, publisher } = this.taken;
    await committer.close(isInOrder);
    await publisher.close();
  }

  async #fold(logged: LoggedFact, context: BatchContext): Promise<void> {
    const { state, committer } = this.taken;
    const { fact } = logged;
    switch (fact.type) {
      case 'BlockProcessed':
        return this.#foldBlock({ ...logged, fact }, context);
      case 'WatcherResigned':
        // It concerns only the other chain-watchers.
        return endFact(state, logged);
      case 'ServiceModeSet':
        return foldMode(state, { ...logged, fact });
      case 'QuarantineLifted':
        return releaseMaker(state, { ...logged, fact }, committer, (maker, from, to) => {
          return this.#readLog(from, to, context, (key) => key === maker || key === '');
        });
      default:
        // A block of the same batch may have dropped the maker from memory.
        if (!state.quarantined.has(fact.maker) && state.makers.get(fact.maker) === undefined) {
          await this.#load(new Set([fact.maker]), context);
        }
        return foldMakerFact(state, { ...logged, fact });
    }
  }

  async #foldBlock(block: Logged<BlockProcessed>, context: BatchContext): Promise<void> {
    const { state } = this.taken;
    const { log, topics } = this.#parts;
    const place = { topic: topics.makerEvents, partition: state.rules.partition };
    state.logName ??= (await nameLog(log, place, block.offset + 1n))?.name;
    const clock = advanceLog(state.clock, block.fact);
    const feed = beginFact(state, block);
    if (clock.block > state.clock.block) {
      const groupMax = Math.min(this.#parts.settings.COMMIT_TRANSITIONS_MAX, state.makers.sizeMax / 2);
      for (const group of state.due.groupsAt(clock.seconds, groupMax)) {
        await this.#load(new Set(group), context);
        for (const maker of group) {
          advanceMaker(state, maker, clock, feed);
          if (this.#isFull()) await this.#publish(context);
        }
      }
    }
    endBlock(state, clock, block, feed);
  }

  async #load(makers: ReadonlySet<Address>, context: BatchContext): Promise<void> {
    const { state, committer } = this.taken;
    await this.#makeRoom(makers, context);
    await loadMakers(state, makers, committer);
  }

  /** Drops other makers if those to read need room. If none can be dropped, it waits for commits. */
  async #makeRoom(wanted: ReadonlySet<Address>, context: BatchContext): Promise<void> {
    const { state, committer } = this.taken;
    let room = 0;
    for (const maker of wanted) if (state.makers.get(maker) === undefined) room += sizeOnceRead(state, maker);
    if (room === 0 || this.#evict(room, wanted)) return;
    await this.#publish(context);
    while (!this.#evict(room, wanted) && committer.underWay !== undefined) {
      await this.#waitFor(committer.underWay, context);
    }
    committer.assertGood();
  }

  /** Drops committed makers that are not wanted, until there is room. @returns true if there is */
  #evict(room: number, wanted: ReadonlySet<Address> = new Set()): boolean {
    const { state, committer } = this.taken;
    const uncommitted = committer.uncommitted();
    const isKept = (maker: Address) => wanted.has(maker) || uncommitted.some(({ makers }) => makers.has(maker));
    return state.makers.evict(room, isKept);
  }

  /** True if the feeds did not have the fact's messages when the partition was taken. */
  readonly #isNew = ({ offset }: { readonly offset: bigint }): boolean => {
    const { published } = this.taken.state.rules;
    return published === undefined || offset > published.offset;
  };

  #isFull(): boolean {
    const { transitions, facts } = this.taken.state.gathered;
    const { COMMIT_TRANSITIONS_MAX, COMMIT_FACTS_MAX } = this.#parts.settings;
    return transitions >= COMMIT_TRANSITIONS_MAX || facts >= COMMIT_FACTS_MAX;
  }

  /** Publishes what was folded, and begins its commit. Waits for the commit if no more may be uncommitted. */
  async #publish(context: BatchContext): Promise<void> {
    const { state, committer, publisher } = this.taken;
    const { unpublished, toPark } = state;
    const { meters, topics } = this.#parts;
    context.assertOwned();
    for (const { record, reason } of toPark) await context.park(record, reason);
    toPark.length = 0;
    if (unpublished.length > 0) {
      const startedAtMs = performance.now();
      const attributes = { 'messaging.destination.partition.id': String(state.rules.partition) };
      await inSendSpan(topics.book, unpublished.length, attributes, () => publisher.publish(unpublished));
      meters.published?.(unpublished.length, performance.now() - startedAtMs);
      unpublished.length = 0;
    }
    meters.activated?.(state.gathered.activated.splice(0).filter(this.#isNew));
    committer.begin();
    while (this.#isFull() && committer.underWay !== undefined) await this.#waitFor(committer.underWay, context);
    committer.assertGood();
  }

  /** Waits for the work. Throws if the partition is given to another process meanwhile. */
  async #waitFor(work: Promise<void>, context: BatchContext): Promise<void> {
    let isDone = false;
    const end = work.then(() => {
      isDone = true;
    });
    for (;;) {
      await Promise.race([end, this.#parts.wait(OWNED_CHECK_MS)]);
      if (isDone) return;
      context.assertOwned();
    }
  }

  /**
   * Reads facts that were given before. What cannot be read was parked then.
   * @param isAsked chooses by the key, so that the rest of a long range is not decoded
   */
  async *#readLog(
    from: bigint,
    to: bigint,
    context: BatchContext,
    isAsked = (_key: string) => true,
  ): AsyncGenerator<FactsOfLog> {
    const { log, topics, settings } = this.#parts;
    const place = { topic: topics.makerEvents, partition: this.taken.state.rules.partition };
    for await (const { records, nextOffset } of log.readRange(place, from, to)) {
      context.assertOwned();
      const asked = records.filter(({ key }) => isAsked(key));
      yield { facts: readFacts(asked, settings.PARTITIONS), nextOffset };
    }
  }
}
