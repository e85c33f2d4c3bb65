import { type BlockProcessed, type ClockEvent, isClockEvent, type MakerFact } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import { advanceLog, type LogClock, type MakerDraft, type Transition } from '@makerbook/domain';
import { FactFeed } from './describe-feeds.js';
import type { HeldMaker } from './hold-makers.js';
import type { PartitionState } from './partition-state.js';
import { noteSkipped, quarantineFolded, quarantineUnreadable, withdrawOwed } from './quarantine-makers.js';
import type { LoggedFact } from './read-facts.js';

/** A fact of one kind with its place in the log. */
export type Logged<F> = LoggedFact & { readonly fact: F };

/** What the fold leads to for a maker cannot be described: its rows are as they were, but what is in memory is not. */
export class UndescribableMaker extends Error {
  override readonly name = 'UndescribableMaker';
  readonly maker: Address;

  constructor(maker: Address, cause: unknown) {
    super(`what happened to ${maker} cannot be described: ${messageOf(cause)}`, { cause });
    this.maker = maker;
  }
}

/**
 * Folds a fact about one maker, who is held, quarantined or unreadable. What cannot be folded quarantines the maker.
 * @throws UndescribableMaker; FatalError where too many makers are quarantined
 */
export function foldMakerFact(state: PartitionState, logged: Logged<MakerFact>): void {
  const { fact, offset } = logged;
  const feed = beginFact(state, logged);
  if (state.quarantined.has(fact.maker)) noteSkipped(state, logged);
  else {
    changeMaker(state, fact.maker, logged, feed, (draft) => applyTo(draft, fact, offset, state.clock));
  }
  withdrawOwed(state, feed, offset);
  endFact(state, logged);
}

/**
 * What a fact does to its maker.
 * @param clock of the partition before it
 * @throws where it breaks an invariant: the maker is as it was
 */
export function applyTo(draft: MakerDraft, fact: MakerFact, offset: bigint, clock: LogClock): readonly Transition[] {
  // Ingress has refused such an order: this is a bug's.
  if (fact.type === 'OrderSubmitted') {
    if (BigInt(fact.order.making.amount) === 0n) throw new Error('the order makes an amount of zero');
    if (BigInt(fact.order.expiresAt) === 0n) throw new Error('the order expires at 0');
  }
  return draft.apply(fact, { offset, clock });
}

/** Folds a fact about the terms of the chain's watchers. */
export function foldTerm(state: PartitionState, logged: Logged<ClockEvent>): void {
  state.clock = advanceLog(state.clock, logged.fact);
  withdrawOwed(state, beginFact(state, logged), logged.offset);
  endFact(state, logged);
}

/** Folds what a block does to one maker, who is due. */
export function advanceMaker(
  state: PartitionState,
  maker: Address,
  clock: LogClock,
  block: LoggedFact,
  feed: FactFeed,
): void {
  changeMaker(state, maker, block, feed, (draft) => {
    const transitions = draft.advance(clock, block.offset);
    if (draft.dueAtSeconds <= clock.seconds) throw new Error(`it is still due at ${draft.dueAtSeconds}`);
    return transitions;
  });
  state.next = { offset: block.offset, index: feed.index };
  state.isBlockBegun = true;
}

/** Ends a block all of whose makers are done. */
export function endBlock(state: PartitionState, clock: LogClock, block: Logged<BlockProcessed>, feed: FactFeed): void {
  withdrawOwed(state, feed, block.offset);
  if (clock.block > state.clock.block) feed.clock(block.fact.block);
  state.clock = clock;
  endFact(state, block);
}

/** The messages of the fact that comes next; of a block that was begun those that are left. */
export function beginFact({ next, rules, unpublished }: PartitionState, logged: LoggedFact): FactFeed {
  return new FactFeed(logged, next.offset === logged.offset ? next.index : 0, rules, unpublished);
}

export function endFact(state: PartitionState, logged: LoggedFact): void {
  state.gathered.fact(logged);
  moveTo(state, logged.offset + 1n);
}

/** All facts before the offset are done. */
export function moveTo(state: PartitionState, offset: bigint): void {
  state.next = { offset, index: 0 };
  state.isBlockBegun = false;
}

/** Takes what happened to a maker who is held: for the rows, for the feeds, and for what is known of hashes. */
export function takeTransitions(
  state: PartitionState,
  held: HeldMaker,
  transitions: readonly Transition[],
  feed: FactFeed | undefined,
): void {
  const { maker, dueAtSeconds } = held.draft;
  state.makers.touch(held);
  state.heldDueSeconds = Math.min(state.heldDueSeconds, dueAtSeconds);
  state.gathered.maker(maker, transitions);
  for (const transition of transitions) {
    if ('order' in transition) state.hashes.accepted.add(transition.order.orderHash);
    if (transition.kind === 'HashCancelled') state.hashes.cancelled.add(transition.orderHash);
    try {
      feed?.transition(transition, maker);
    } catch (error) {
      throw new UndescribableMaker(maker, error);
    }
  }
}

/** Whether the fact is about one maker whom it changes. */
export function isMakerFact(logged: LoggedFact): logged is Logged<MakerFact> {
  return !isClockEvent(logged.fact) && logged.fact.type !== 'QuarantineLifted';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function changeMaker(
  state: PartitionState,
  maker: Address,
  logged: LoggedFact,
  feed: FactFeed,
  change: (draft: MakerDraft) => readonly Transition[],
): void {
  const unreadable = state.unreadable.get(maker);
  if (unreadable !== undefined) return quarantineUnreadable(state, maker, unreadable, logged);
  const held = state.makers.get(maker);
  if (held === undefined) throw new Error(`${maker} is folded and was not loaded`);
  let transitions: readonly Transition[];
  try {
    transitions = change(held.draft);
  } catch (error) {
    return quarantineFolded(state, held, messageOf(error), logged, feed);
  }
  takeTransitions(state, held, transitions, feed);
}
