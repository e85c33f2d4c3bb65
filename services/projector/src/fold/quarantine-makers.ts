import type { Address } from '@makerbook/contracts-primitives';
import { snapshotOf } from '@makerbook/domain';
import { type FactFeed, isPublished } from './describe-feeds.js';
import type { HeldMaker } from './hold-makers.js';
import type { PartitionState } from './partition-state.js';
import type { LoggedFact } from './read-facts.js';

/**
 * A fact cannot be folded for a maker: its orders leave the book with this fact, and nothing more is folded for it. It
 * depends on the log alone, and so do the messages.
 */
export function quarantineMaker(
  state: PartitionState,
  held: HeldMaker,
  reason: string,
  logged: LoggedFact,
  feed: FactFeed,
): void {
  const { maker } = held.draft;
  state.noteQuarantined(maker, reason);
  state.quarantined.set(maker, { offset: logged.offset, reason, clock: state.clock });
  state.due.delete(maker);
  if (!isPublished(state.rules, logged, maker)) {
    parkFor(state, maker, logged, `for ${maker} alone, who is quarantined: ${reason}`);
  }
  const withheld = held.draft.withholdAll('QUARANTINED', logged.offset);
  state.makers.replace(held, { ...snapshotOf(held.draft), dueAtSeconds: Number.POSITIVE_INFINITY });
  state.gathered.maker(maker, withheld);
  feed.transitions(withheld, maker);
}

/** Sets a fact aside that one maker cannot be folded on with. */
export function parkFor(state: PartitionState, maker: Address, logged: LoggedFact, reason: string): void {
  const record = { ...logged.record, headers: { ...logged.record.headers, 'parked-maker': maker } };
  state.toPark.push({ record, reason });
}
