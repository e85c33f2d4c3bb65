import type { Address } from '@makerbook/contracts-primitives';
import { snapshotOf } from '@makerbook/domain';
import { type FactFeed, isPublished } from './describe-feeds.js';
import type { HeldMaker } from './hold-makers.js';
import type { UnreadableMaker } from './makers-from-rows.js';
import type { PartitionState } from './partition-state.js';
import type { LoggedFact } from './read-facts.js';

/**
 * A fact cannot be folded for a maker: its orders leave the book with this fact, and nothing more is folded for it. It
 * depends on the log alone, and so do the messages.
 */
export function quarantineFolded(
  state: PartitionState,
  held: HeldMaker,
  reason: string,
  logged: LoggedFact,
  feed: FactFeed,
): void {
  const { maker } = held.draft;
  begin(state, maker, reason, logged, !isPublished(state.rules, logged, maker));
  const withheld = held.draft.withholdAll('QUARANTINED', logged.offset);
  state.makers.replace(held, { ...snapshotOf(held.draft), dueAtSeconds: Number.POSITIVE_INFINITY });
  state.gathered.maker(maker, withheld);
  feed.transitions(withheld, maker);
}

/**
 * The rows of a maker cannot be read or written. That does not depend on the log alone, so its orders leave the book behind
 * the messages of the next fact of which the feeds hold nothing: what they hold of a block is told by the maker of its last
 * message, and one of an earlier maker would be left out.
 */
export function quarantineUnreadable(
  state: PartitionState,
  maker: Address,
  { reason, row, inBook }: UnreadableMaker,
  logged: LoggedFact,
): void {
  begin(state, maker, reason, logged, true);
  state.unreadable.delete(maker);
  state.gathered.unreadable.set(maker, row);
  state.owed.set(maker, new Map(inBook.map((order) => [order.orderHash, order])));
  noteSkipped(state, logged);
}

/** An order that the feeds hold, and that has no row, is to leave the book too. */
export function noteSkipped(state: PartitionState, logged: LoggedFact): void {
  const { fact } = logged;
  if (fact.type !== 'OrderSubmitted' || !isPublished(state.rules, logged, fact.maker)) return;
  const owed = state.owed.get(fact.maker);
  if (owed !== undefined && !owed.has(fact.orderHash)) owed.set(fact.orderHash, undefined);
}

/** Takes the orders out of the book that are owed, with the first fact of which the feeds hold nothing. */
export function withdrawOwed(state: PartitionState, feed: FactFeed, offset: bigint): void {
  const { published } = state.rules;
  if (state.owed.size === 0 || (published !== undefined && offset <= published.offset)) return;
  for (const [maker, orders] of state.owed) {
    for (const [orderHash, row] of orders) {
      feed.withdraw(orderHash, 'QUARANTINED', maker);
      if (row !== undefined) state.gathered.withdraw(row, offset);
    }
  }
  state.owed.clear();
}

/** Sets a fact aside that one maker cannot be folded on with. */
export function parkFor(state: PartitionState, maker: Address, logged: LoggedFact, reason: string): void {
  const record = { ...logged.record, headers: { ...logged.record.headers, 'parked-maker': maker } };
  state.toPark.push({ record, reason });
}

function begin(state: PartitionState, maker: Address, reason: string, logged: LoggedFact, isToPark: boolean): void {
  state.noteQuarantined(maker, reason);
  state.quarantined.set(maker, { offset: logged.offset, reason, clock: state.clock });
  state.due.delete(maker);
  if (isToPark) parkFor(state, maker, logged, `for ${maker} alone, who is quarantined: ${reason}`);
}
