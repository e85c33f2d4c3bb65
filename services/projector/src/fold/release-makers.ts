import { isClockEvent, type QuarantineLifted } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { advanceLog, type Maker, type OpenOrder, routableUntilSeconds, type Transition } from '@makerbook/domain';
import type { Quarantine } from '@makerbook/postgres';
import { applyTo, beginFact, endFact, type Logged, messageOf, takeTransitions } from './fold-facts.js';
import type { HeldMaker } from './hold-makers.js';
import { hashesOf, type LoadParts, loadHashes, loadMakers } from './load-facts.js';
import type { PartitionState } from './partition-state.js';
import { withdrawOwed } from './quarantine-makers.js';
import type { LoggedFact } from './read-facts.js';

export interface ReleaseParts extends LoadParts {
  /** Hands over the facts of the partition from one offset to another, in order; those that cannot be read are left out. */
  readonly readFacts: (
    from: bigint,
    to: bigint,
    onFacts: (facts: readonly LoggedFact[]) => Promise<void>,
  ) => Promise<void>;
}

/**
 * An operator has lifted the quarantine of a maker: its facts are folded from the first on that could not be, with the
 * partition's blocks in between, and its open orders come back into the feed to be read on the chain anew. Where that
 * fails the maker stays quarantined, and the command is parked.
 * All that was folded before must be committed. It depends on the log and on the maker's rows, which nothing else changes.
 * @throws PostgresUnavailable, UndescribableMaker
 */
export async function releaseMaker(
  state: PartitionState,
  logged: Logged<QuarantineLifted>,
  parts: ReleaseParts,
): Promise<void> {
  const { maker } = logged.fact;
  const quarantine = state.quarantined.get(maker);
  const feed = beginFact(state, logged);
  if (quarantine !== undefined) {
    state.makers.forget(maker);
    state.unreadable.delete(maker);
    state.quarantined.delete(maker);
    const outcome = await foldAgain(state, maker, quarantine, logged.offset, parts);
    if ('reason' in outcome) {
      state.makers.forget(maker);
      state.unreadable.delete(maker);
      state.quarantined.set(maker, quarantine);
      const record = { ...logged.record, headers: { ...logged.record.headers, 'parked-maker': maker } };
      state.toPark.push({ record, reason: `${maker} stays quarantined: ${outcome.reason}` });
    } else {
      const { held, stored, transitions } = outcome;
      takeTransitions(state, held, transitions, undefined);
      const released = held.draft.release(logged.offset);
      const { admission, nonce } = held.draft;
      const isNews = admission !== stored.admission || nonce?.value !== stored.nonce?.value;
      const view: Transition = { kind: 'MakerChanged', admission, nonce, offset: logged.offset };
      takeTransitions(state, held, isNews ? [view, ...released] : released, feed);
      // What the quarantine has withheld is due for the book's sake again.
      held.draft.dueAtSeconds = 0;
      state.heldDueSeconds = 0;
    }
  }
  withdrawOwed(state, feed, logged.offset);
  endFact(state, logged);
}

/** The maker as if it had been folded all the time, but for the feeds. */
async function foldAgain(
  state: PartitionState,
  maker: Address,
  quarantine: Quarantine,
  to: bigint,
  parts: ReleaseParts,
): Promise<
  | { readonly held: HeldMaker; readonly stored: Maker; readonly transitions: readonly Transition[] }
  | { readonly reason: string }
> {
  await loadMakers(state, [maker], parts);
  await parts.verifyRows();
  const held = state.makers.get(maker);
  if (held === undefined) return { reason: state.unreadable.get(maker)?.reason ?? 'its rows cannot be read' };
  const stored: Maker = { ...snapshotOf(held.draft), dueAtSeconds: 0 };
  state.makers.replace(held, stored);
  const transitions: Transition[] = [];
  let clock = quarantine.clock;
  const foldOne = ({ draft }: HeldMaker, fact: LoggedFact['fact'], offset: bigint): readonly Transition[] => {
    try {
      if (isClockEvent(fact)) {
        clock = advanceLog(clock, fact);
        return draft.advance(clock, offset);
      }
      return fact.type === 'QuarantineLifted' ? [] : applyTo(draft, fact, offset, clock);
    } catch (error) {
      throw new StillUnfoldable(`the fact at ${offset}: ${messageOf(error)}`);
    }
  };
  try {
    await parts.readFacts(quarantine.offset, to, async (facts) => {
      const own = facts.filter(({ fact }) => isClockEvent(fact) || fact.maker === maker);
      await loadHashes(state, hashesOf(own, { makers: state.makers }), parts);
      for (const { fact, offset } of own) {
        const happened = foldOne(held, fact, offset);
        for (const one of happened) {
          if ('order' in one) state.hashes.accepted.add(one.order.orderHash);
          if (one.kind === 'HashCancelled') state.hashes.cancelled.add(one.orderHash);
        }
        transitions.push(...happened);
      }
    });
  } catch (error) {
    if (!(error instanceof StillUnfoldable)) throw error;
    return { reason: error.message };
  }
  state.makers.replace(held, { ...snapshotOf(held.draft), orders: routableOrders(state, held.draft) });
  return { held, stored, transitions };
}

/** A fact about a maker whose quarantine was lifted cannot be folded. */
class StillUnfoldable extends Error {
  override readonly name = 'StillUnfoldable';
}

/** Those that are not in their last seconds belong into the book. */
function routableOrders({ clock, rules }: PartitionState, { orders }: Maker): ReadonlyMap<Hex, OpenOrder> {
  return new Map(
    [...orders].map(([orderHash, order]) => {
      return [orderHash, { ...order, inBook: clock.seconds < routableUntilSeconds(order, rules) }];
    }),
  );
}

function snapshotOf({ maker, admission, nonce, funding, orders, dueAtSeconds }: Maker): Maker {
  return { maker, admission, nonce, funding, orders, dueAtSeconds };
}
