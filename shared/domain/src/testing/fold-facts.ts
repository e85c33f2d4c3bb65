import type { MakerEvent } from '@makerbook/contracts-events';
import { advanceLog, type LogClock, startOfLog } from '../log-clock.js';
import type { Maker, Transition } from '../maker.js';
import { MakerDraft } from '../maker-draft.js';
import { type HashMemory, rememberHashes } from '../remember-hashes.js';
import type { Rules } from '../writable-maker.js';

/** One maker with the clock of its partition, folded fact by fact as the projector does. */
export interface Fold {
  readonly draft: MakerDraft;
  readonly hashes: HashMemory;
  clock: LogClock;
  nextOffset: bigint;
}

/** @param hashes what is remembered of earlier hashes */
export function startFold(maker: Maker, hashes: HashMemory = rememberHashes(), clock = startOfLog): Fold {
  const rules: Rules = { routingGraceSeconds: 60, ...hashes };
  return { draft: new MakerDraft(maker, rules), hashes, clock, nextOffset: 0n };
}

/** Folds facts of the maker and of the partition. Skips facts that do not concern the fold of a maker. */
export function foldFacts(fold: Fold, facts: readonly MakerEvent[]): Transition[] {
  return facts.flatMap((fact) => {
    const offset = fold.nextOffset;
    fold.nextOffset += 1n;
    const transitions = foldOne(fold, fact, offset);
    fold.hashes.note(transitions);
    return transitions;
  });
}

function foldOne(fold: Fold, fact: MakerEvent, offset: bigint): readonly Transition[] {
  switch (fact.type) {
    case 'QuarantineLifted':
    case 'ServiceModeSet':
    case 'WatcherResigned':
      return [];
    case 'BlockProcessed':
      fold.clock = advanceLog(fold.clock, fact);
      return fold.draft.advance(fold.clock, offset);
    default:
      return fold.draft.apply(fact, { offset, clock: fold.clock });
  }
}
