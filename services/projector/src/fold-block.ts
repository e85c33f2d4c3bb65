import type { Address, Maker } from '@makerbook/domain';
import type { LogRecord } from '@makerbook/kafka';
import { describeFeeds, type FeedRules } from './describe-feeds.js';
import { type Folded, type FoldInput, foldFacts, type Happened, UnfoldableFact } from './fold-facts.js';
import { describeHaltFeeds, describeHaltRows, type Halt } from './halt-makers.js';
import type { LoggedFact } from './read-facts.js';
import { type ChangedRows, describeRows } from './save-transitions.js';

/** What a block did to the makers for whom it can be folded, and for whom it cannot. */
export interface FoldedBlock {
  readonly folded: Folded;
  readonly feeds: ReadonlyMap<Address, readonly LogRecord[]>;
  /** Makers for whom it breaks an invariant, and which. Nothing of them was changed. */
  readonly broken: ReadonlyMap<Address, string>;
}

/**
 * Folds one block, and nothing else, for each maker on its own: what breaks for one of them is no matter of the others.
 * @param input with the block as its only fact
 * @param refused makers of whom the read model does not take what the fold makes
 */
export function foldBlock(input: FoldInput, rules: FeedRules, refused: ReadonlyMap<Address, string>): FoldedBlock {
  const none = { ...input, makers: new Map<Address, Maker>(), unreadable: new Map<Address, string>() };
  const { clockSeconds, blockNumber } = foldFacts(none);
  const makers = new Map<Address, Maker>();
  const halted = new Map(input.halted);
  const happened: Happened[] = [];
  const feeds = new Map<Address, readonly LogRecord[]>();
  const broken = new Map([...input.unreadable, ...refused]);
  for (const [address, before] of [...input.makers].sort(byAddress)) {
    if (broken.has(address)) continue;
    try {
      const folded = foldFacts({ ...none, makers: new Map([[address, before]]) });
      feeds.set(address, describeFeeds(folded.happened, rules));
      happened.push(...folded.happened);
      for (const maker of folded.makers.values()) makers.set(address, maker);
      if (!folded.halted.has(address)) halted.delete(address);
    } catch (error) {
      if (!(error instanceof UnfoldableFact)) throw error;
      broken.set(address, error.message);
    }
  }
  return { folded: { clockSeconds, blockNumber, makers, halted, happened }, feeds, broken };
}

/** The fold of the block with the makers that it halts: rows and feeds in the order of the makers' addresses. */
export function describeBlock(
  { folded, feeds }: FoldedBlock,
  before: ReadonlyMap<Address, Maker>,
  halts: readonly Halt[],
  block: LoggedFact,
  rules: FeedRules,
): { readonly folded: Folded; readonly rows: ChangedRows; readonly feeds: readonly LogRecord[] } {
  const rows = describeRows(before, folded);
  if (halts.length === 0) return { folded, rows, feeds: [...feeds.values()].flat() };
  const halting = describeHaltRows(halts, block);
  const history = [...rows.history, ...halting.history].sort((a, b) => byAddress([a.maker], [b.maker]));
  const all = new Map([...feeds, ...halts.map((halt) => [halt.maker, describeHaltFeeds(halt, block, rules)] as const)]);
  const halted = new Map(folded.halted);
  for (const { maker } of halts) if (!halted.has(maker)) halted.set(maker, block.offset);
  return {
    folded: { ...folded, halted },
    rows: { ...rows, ...halting, history },
    feeds: [...all].sort(byAddress).flatMap(([, records]) => records),
  };
}

function byAddress([a]: readonly [Address, ...unknown[]], [b]: readonly [Address, ...unknown[]]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
