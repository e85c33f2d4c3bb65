import type { MakerEvent } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import {
  advanceLog,
  type LogClock,
  MakerDraft,
  rememberHashes,
  startOfLog,
  type Transition,
  unknownMaker,
} from '@makerbook/domain';

/** A partition of the log, folded from its beginning. */
export interface ReplayedPartition {
  readonly makers: ReadonlyMap<Address, MakerDraft>;
  readonly clock: LogClock;
  /** All of them, in the order of the log; those of one block by the address of the maker. */
  readonly transitions: readonly (Transition & { readonly maker: Address })[];
}

const ROUTING_GRACE_SECONDS = 60;

/** Folds a partition fact by fact, as every projection of it must come out. Nobody is in quarantine. */
export function replayPartition(facts: Iterable<readonly [offset: bigint, fact: MakerEvent]>): ReplayedPartition {
  const makers = new Map<Address, MakerDraft>();
  const transitions: (Transition & { readonly maker: Address })[] = [];
  const hashes = rememberHashes();
  const rules = { routingGraceSeconds: ROUTING_GRACE_SECONDS, ...hashes };
  let clock = startOfLog;
  const note = (maker: Address, some: readonly Transition[]) => {
    hashes.note(some);
    transitions.push(...some.map((transition) => ({ ...transition, maker })));
  };
  for (const [offset, fact] of facts) {
    if (fact.type === 'QuarantineLifted') throw new Error(`${fact.maker} was in quarantine`);
    if (fact.type === 'BlockProcessed') {
      clock = advanceLog(clock, fact);
      for (const [maker, draft] of [...makers].sort(([a], [b]) => (a < b ? -1 : 1)))
        note(maker, draft.advance(clock, offset));
      continue;
    }
    if (!('maker' in fact)) continue;
    const draft = makers.get(fact.maker) ?? new MakerDraft(unknownMaker(fact.maker), rules);
    makers.set(fact.maker, draft);
    note(fact.maker, draft.apply(fact, { offset, clock }));
  }
  return { makers, clock, transitions };
}
