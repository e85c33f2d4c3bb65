import type { QuarantineLifted } from '@makerbook/contracts-events';
import {
  advanceLog,
  isRoutable,
  type Maker,
  MakerDraft,
  type OpenOrder,
  rememberHashes,
  snapshotOf,
  type Transition,
} from '@makerbook/domain';
import type { Quarantine } from '@makerbook/postgres';
import { beginFact, endFact, type Logged, messageOf, takeTransitions } from './fold-facts.js';
import { type LoadParts, loadHashes, readStored } from './load-facts.js';
import type { PartitionState } from './partition-state.js';
import { parkFor } from './quarantine-makers.js';
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
 * It depends on the log and on the maker's rows, which nothing else changes.
 * @throws PostgresUnavailable, LogUnavailable
 */
export async function releaseMaker(
  state: PartitionState,
  logged: Logged<QuarantineLifted>,
  parts: ReleaseParts,
): Promise<void> {
  const { maker } = logged.fact;
  const feed = beginFact(state, logged);
  const quarantine = state.quarantined.get(maker);
  if (quarantine !== undefined) {
    try {
      const { stored, draft, transitions } = await foldAgain(state, maker, quarantine, logged.offset, parts);
      const orders = routableOrders(state, draft);
      // Orders that the quarantine withheld must be looked at again with the next block.
      const back = new MakerDraft({ ...snapshotOf(draft), orders, dueAtSeconds: 0 }, draft.rules);
      const { admission, limits, nonce } = draft;
      const isNews = transitions.some(({ kind }) => kind === 'MakerChanged');
      const view: Transition[] = isNews
        ? [{ kind: 'MakerChanged', admission, limits, nonce, offset: logged.offset }]
        : [];
      const released = attempt('its orders', () =>
        back.release(logged.offset, (changes) => feed.transitions([...view, ...changes], maker)),
      );
      const held = state.makers.get(maker) ?? state.makers.load(stored);
      state.makers.replace(held, snapshotOf(back));
      state.quarantined.delete(maker);
      takeTransitions(state, held, [...transitions, ...view, ...released]);
    } catch (error) {
      if (!(error instanceof StillQuarantined)) throw error;
      parkFor(state, maker, logged, `${maker} stays quarantined: ${error.message}`);
    }
  }
  endFact(state, logged);
}

/** The maker as if it had been folded all the time, but for the feeds. What is held of it stays as it is. */
async function foldAgain(
  state: PartitionState,
  maker: Maker['maker'],
  quarantine: Quarantine,
  to: bigint,
  parts: ReleaseParts,
): Promise<{ readonly stored: Maker; readonly draft: MakerDraft; readonly transitions: readonly Transition[] }> {
  const stored = await readQuarantined(state, maker, parts);
  const hashes = rememberHashes(state.makers.rules);
  const draft = new MakerDraft({ ...stored, dueAtSeconds: 0 }, { ...state.makers.rules, ...hashes });
  const transitions: Transition[] = [];
  let clock = quarantine.clock;
  await parts.readFacts(quarantine.offset, to, async (facts) => {
    const own = facts.filter(({ fact }) => fact.type === 'BlockProcessed' || ('maker' in fact && fact.maker === maker));
    await loadHashes(state, own, parts);
    for (const { fact, offset } of own) {
      if (fact.type === 'BlockProcessed') clock = advanceLog(clock, fact);
      const happened = attempt(`the fact at ${offset}`, () => {
        if (fact.type === 'BlockProcessed') return draft.advance(clock, offset);
        if (!('maker' in fact) || fact.type === 'QuarantineLifted') return [];
        return draft.apply(fact, { offset, clock });
      });
      hashes.note(happened);
      transitions.push(...happened);
    }
  });
  return { stored, draft, transitions };
}

/** The maker as it was when it was quarantined. */
async function readQuarantined(state: PartitionState, maker: Maker['maker'], parts: ReleaseParts): Promise<Maker> {
  const held = state.makers.get(maker);
  if (held !== undefined) return snapshotOf(held.draft);
  const [stored] = await readStored(state, [maker], parts);
  if (stored === undefined) throw new StillQuarantined('it is not there');
  return stored;
}

/** A maker whose quarantine was lifted cannot be folded all the same. */
class StillQuarantined extends Error {
  override readonly name = 'StillQuarantined';
}

function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new StillQuarantined(`${what}: ${messageOf(error)}`);
  }
}

/** The orders, each marked as in the book or not. */
function routableOrders({ clock, rules }: PartitionState, { admission, orders }: Maker): Maker['orders'] {
  return new Map(
    [...orders].map(([orderHash, order]): [OpenOrder['orderHash'], OpenOrder] => {
      return [orderHash, { ...order, inBook: isRoutable(order, admission, clock, rules) }];
    }),
  );
}
