import type { QuarantineLifted } from '@makerbook/contracts-events';
import { advanceLog, type Maker, MakerDraft, rememberHashes, snapshotOf, type Transition } from '@makerbook/domain';
import type { CachedMaker } from './cache-makers.js';
import { beginFact, endFact, type Logged, messageOf, parkFor, takeTransitions } from './fold-facts.js';
import { loadHashes, loadMakers, type RowReader } from './load-facts.js';
import type { PartitionState } from './partition-state.js';
import type { LoggedFact } from './read-facts.js';

/** Consecutive facts of a partition; those that cannot be read are left out. */
export interface FactsOfLog {
  readonly facts: readonly LoggedFact[];
  readonly nextOffset: bigint;
}

/** Reads the partition's facts about a maker and about no maker, from one offset on and before another. */
export type ReadFacts = (maker: Maker['maker'], from: bigint, to: bigint) => AsyncIterable<FactsOfLog>;

/**
 * Releases a maker whose quarantine an operator has lifted. Folds its facts from the first one that could not be
 * folded, with the partition's blocks in between. Its open orders return to the feed, to be read on the chain again. If
 * that fails, the maker stays in quarantine, and the command is parked.
 * The result depends only on the log and on the maker's rows, which nothing else changes.
 * @throws PostgresUnavailable, LogUnavailable
 */
export async function releaseMaker(
  state: PartitionState,
  logged: Logged<QuarantineLifted>,
  rows: RowReader,
  readFacts: ReadFacts,
): Promise<void> {
  const { maker } = logged.fact;
  const { offset } = logged;
  const feed = beginFact(state, logged);
  if (state.quarantined.has(maker)) {
    try {
      const { cached, draft, transitions } = await foldAgain(state, maker, offset, rows, readFacts);
      const news = transitions.filter(({ kind }) => kind === 'MakerChanged').slice(-1);
      const released = attempt('its orders', () =>
        draft.release({ offset, clock: state.clock }, (changes) => feed.transitions([...news, ...changes], maker)),
      );
      cached.draft = new MakerDraft(draft, state.makers.rules);
      state.quarantined.delete(maker);
      takeTransitions(state, cached, [...transitions, ...released]);
    } catch (error) {
      if (!(error instanceof StillQuarantined)) throw error;
      parkFor(state, maker, logged, `${maker} stays quarantined: ${error.message}`);
    }
  }
  endFact(state, logged);
}

/** Folds the maker as if it had never been in quarantine, but not for the feeds. The cached maker stays as it is. */
async function foldAgain(
  state: PartitionState,
  maker: Maker['maker'],
  to: bigint,
  rows: RowReader,
  readFacts: ReadFacts,
): Promise<{ readonly cached: CachedMaker; readonly draft: MakerDraft; readonly transitions: readonly Transition[] }> {
  await loadMakers(state, [maker], rows);
  const cached = state.makers.get(maker);
  const quarantine = state.quarantined.get(maker);
  if (cached === undefined || quarantine === undefined) throw new Error(`${maker} is released and was not loaded`);
  const hashes = rememberHashes(state.makers.rules);
  const draft = new MakerDraft({ ...snapshotOf(cached.draft), dueAtSeconds: 0 }, { ...state.makers.rules, ...hashes });
  const transitions: Transition[] = [];
  let { clock } = quarantine;
  for await (const { facts } of readFacts(maker, quarantine.offset, to)) {
    const own = facts.filter(({ fact, isTooLate }) => {
      return !isTooLate && (fact.type === 'BlockProcessed' || ('maker' in fact && fact.maker === maker));
    });
    await loadHashes(state, own, rows);
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
  }
  return { cached, draft, transitions };
}

/** A maker whose quarantine was lifted still cannot be folded. */
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
