import type { BlockProcessed, MakerFact, ServiceModeSet } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import type { Accept, LogClock, MakerDraft, Transition } from '@makerbook/domain';
import type { CachedMaker } from './cache-makers.js';
import { FactFeed } from './describe-feeds.js';
import type { PartitionState } from './partition-state.js';
import { hashTransitions } from './prove-book.js';
import type { LoggedFact } from './read-facts.js';

/** A fact of one kind with its place in the log. */
export type Logged<F> = LoggedFact & { readonly fact: F };

/**
 * Folds a fact about one maker, who is cached or in quarantine. A fact that cannot be folded quarantines its maker.
 * @throws FatalError if too many makers are in quarantine
 */
export function foldMakerFact(state: PartitionState, logged: Logged<MakerFact>): void {
  const { fact, offset } = logged;
  const { clock } = state;
  if (logged.isTooLate) return passOver(state, logged);
  const feed = beginFact(state, logged);
  if (fact.type === 'MakerObserved') feed.fills(fact);
  if (!state.quarantined.has(fact.maker)) {
    changeMaker(state, fact.maker, feed, (draft, accept) => draft.apply(fact, { offset, clock }, accept));
  }
  if (fact.type === 'OrderSubmitted' && state.quarantined.has(fact.maker)) state.gathered.unfolded(fact);
  endFact(state, logged);
}

/** Publishes an operator's decision about the whole service on the makers' feed. No row keeps it. */
export function foldMode(state: PartitionState, logged: Logged<ServiceModeSet>): void {
  beginFact(state, logged).mode(logged.fact.mode);
  endFact(state, logged);
}

/** Folds the effect of a block on one maker who is due. */
export function advanceMaker(state: PartitionState, maker: Address, clock: LogClock, feed: FactFeed): void {
  const { offset } = feed.fact;
  changeMaker(state, maker, feed, (draft, accept) =>
    draft.advance(clock, offset, (transitions) => {
      if (draft.dueAtSeconds <= clock.seconds) throw new Error(`it is still due at ${draft.dueAtSeconds}`);
      accept(transitions);
    }),
  );
  state.nextOffset = offset;
  state.isBlockBegun = true;
}

/** Ends a block once all its makers are folded. */
export function endBlock(state: PartitionState, clock: LogClock, block: Logged<BlockProcessed>, feed: FactFeed): void {
  if (clock.block > state.clock.block) feed.clock(block.fact.block, state.book.digest, state.logName);
  state.clock = clock;
  endFact(state, block);
}

/** Begins the messages of the next fact. */
export function beginFact({ rules, unpublished }: PartitionState, logged: LoggedFact): FactFeed {
  return new FactFeed(logged, rules, unpublished);
}

export function endFact(state: PartitionState, logged: LoggedFact): void {
  state.gathered.fact(logged);
  passOver(state, logged);
}

/** Moves past a fact. One that came too late changes no rows: those of a later request for the same order stay. */
function passOver(state: PartitionState, { offset, record }: LoggedFact): void {
  state.clockMs = record.timestampMs;
  moveTo(state, offset + 1n);
}

/** Notes that all facts before the offset are folded. */
export function moveTo(state: PartitionState, offset: bigint): void {
  state.nextOffset = offset;
  state.isBlockBegun = false;
}

/**
 * Records what happened to a cached maker: for the rows, its next due time, the known hashes, and the hash of the book.
 */
export function takeTransitions(state: PartitionState, cached: CachedMaker, transitions: readonly Transition[]): void {
  const { makers, due, gathered, hashes, book } = state;
  makers.touch(cached);
  due.set(cached.draft);
  gathered.maker(cached, transitions);
  hashTransitions(book, cached.inBook, transitions);
  hashes.note(transitions);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Parks a fact that cannot be folded for one maker. */
export function parkFor(state: PartitionState, maker: Address, logged: LoggedFact, reason: string): void {
  const record = { ...logged.record, headers: { ...logged.record.headers, 'parked-maker': maker } };
  state.toPark.push({ record, reason });
}

/** @param change passes its transitions to `accept`, and is undone if the feeds cannot describe them */
function changeMaker(
  state: PartitionState,
  maker: Address,
  feed: FactFeed,
  change: (draft: MakerDraft, accept: Accept) => readonly Transition[],
): void {
  const cached = state.makers.get(maker);
  if (cached === undefined) throw new Error(`${maker} is folded and was not loaded`);
  let transitions: readonly Transition[];
  try {
    transitions = change(cached.draft, (changes) => feed.transitions(changes, maker));
  } catch (error) {
    return quarantineMaker(state, cached, messageOf(error), feed);
  }
  takeTransitions(state, cached, transitions);
}

/**
 * Quarantines a maker for whom a fact cannot be folded. Its orders leave the book with this fact, and nothing more is
 * folded for it. This depends only on the log, and so do the messages.
 */
function quarantineMaker(state: PartitionState, cached: CachedMaker, reason: string, feed: FactFeed): void {
  const { maker } = cached.draft;
  const { fact } = feed;
  state.noteQuarantined(maker, reason);
  state.quarantined.set(maker, { offset: fact.offset, reason, clock: state.clock });
  if (!feed.isPublished(maker)) parkFor(state, maker, fact, `for ${maker} alone, who is quarantined: ${reason}`);
  const withheld = cached.draft.quarantine(fact.offset);
  feed.transitions(withheld, maker);
  takeTransitions(state, cached, withheld);
}
