import type { Hex, MakerEvent } from '@makerbook/contracts-events';
import { type Address, evolve, type Maker, type Placed, type Rules, type Transition } from '@makerbook/domain';
import type { LoggedFact } from './read-facts.js';

/** What the fold of a stretch has to be given: everything that the stretch can touch. */
export interface FoldInput {
  readonly facts: readonly LoggedFact[];
  /** The partition's clock before the first fact: the greatest block timestamp so far, in seconds. */
  readonly clockSeconds: number;
  readonly blockNumber: number | undefined;
  /** The makers that the facts are about, and those with orders that become due. */
  readonly makers: ReadonlyMap<Address, Maker>;
  /** The submitted hashes that were accepted before the stretch, open or not. */
  readonly accepted: ReadonlySet<Hex>;
  readonly routingGraceSeconds: number;
}

/** One transition with the maker it is about and the fact that led to it. */
export interface Happened {
  readonly transition: Transition;
  readonly maker: Address;
  readonly source: LoggedFact;
}

export interface Folded {
  readonly clockSeconds: number;
  readonly blockNumber: number | undefined;
  /** Makers after the stretch, those alone that are not what they were. */
  readonly makers: ReadonlyMap<Address, Maker>;
  /** In the order of the log; what one fact did to several makers, by their address. */
  readonly happened: readonly Happened[];
}

/** A fact that the fold cannot take: an invariant would break. */
export class UnfoldableFact extends Error {
  override readonly name = 'UnfoldableFact';
  readonly offset: bigint;

  constructor(offset: bigint, cause: unknown) {
    super(`the fold refuses it: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.offset = offset;
  }
}

/**
 * Folds a stretch of one partition. Pure, and it makes no difference how the partition is cut into stretches.
 * @throws UnfoldableFact naming the first fact of a maker that cannot be folded
 */
export function foldFacts(input: FoldInput): Folded {
  const { blocks, byMaker, clockSeconds, blockNumber } = sortByMaker(input);
  const rules: Rules = {
    routingGraceSeconds: input.routingGraceSeconds,
    wasRemoved: (orderHash) => input.accepted.has(orderHash),
  };
  const makers = new Map<Address, Maker>();
  const happened: Happened[] = [];
  const sources = new Map(input.facts.map((fact) => [fact.offset, fact]));
  for (const [address, before] of input.makers) {
    const facts = mergeByOffset(byMaker.get(address) ?? [], blocks);
    const { maker, transitions } = evolveOrName(before, facts, rules);
    if (isChanged(before, maker, transitions)) makers.set(address, maker);
    for (const transition of transitions) {
      const source = sources.get(transition.offset);
      if (source === undefined) throw new Error(`a transition at offset ${transition.offset}, where no fact stands`);
      happened.push({ transition, maker: address, source });
    }
  }
  // Stable: what one fact did to one maker stays in its order.
  happened.sort(
    (a, b) =>
      compare(a.transition.offset, b.transition.offset) || (a.maker === b.maker ? 0 : compare(a.maker, b.maker)),
  );
  return { clockSeconds, blockNumber, makers, happened };
}

/** The greatest block timestamp once the facts are folded, in seconds. */
export function clockAfter(facts: readonly LoggedFact[], clockSeconds: number): number {
  let clock = clockSeconds;
  for (const { fact } of facts) if (fact.type === 'BlockProcessed') clock = Math.max(clock, fact.block.timestamp);
  return clock;
}

function sortByMaker(input: FoldInput) {
  let { clockSeconds, blockNumber } = input;
  const place = (fact: MakerEvent, offset: bigint): Placed<MakerEvent> => ({
    fact,
    offset,
    clockSeconds,
    processedBlock: blockNumber ?? -1,
  });
  const blocks: Placed<MakerEvent>[] = [];
  const byMaker = new Map<Address, Placed<MakerEvent>[]>();
  for (const { fact, offset } of input.facts) {
    if (fact.type === 'BlockProcessed') {
      blocks.push(place(fact, offset));
      clockSeconds = Math.max(clockSeconds, fact.block.timestamp);
      blockNumber = Math.max(blockNumber ?? 0, fact.block.number);
      continue;
    }
    const facts = byMaker.get(fact.maker);
    if (facts === undefined) byMaker.set(fact.maker, [place(fact, offset)]);
    else facts.push(place(fact, offset));
  }
  return { blocks, byMaker, clockSeconds, blockNumber };
}

function mergeByOffset(
  own: readonly Placed<MakerEvent>[],
  blocks: readonly Placed<MakerEvent>[],
): readonly Placed<MakerEvent>[] {
  if (blocks.length === 0) return own;
  if (own.length === 0) return blocks;
  return [...own, ...blocks].sort((a, b) => compare(a.offset, b.offset));
}

function evolveOrName(before: Maker, facts: readonly Placed<MakerEvent>[], rules: Rules) {
  try {
    return evolve(before, facts, rules);
  } catch {
    throw nameUnfoldable(before, facts, rules);
  }
}

function nameUnfoldable(before: Maker, facts: readonly Placed<MakerEvent>[], rules: Rules): Error {
  for (let count = 1; count <= facts.length; count += 1) {
    try {
      evolve(before, facts.slice(0, count), rules);
    } catch (error) {
      return new UnfoldableFact(facts[count - 1]?.offset ?? -1n, error);
    }
  }
  return new Error(`the facts of ${before.maker} fold one by one and not together`);
}

/** A nonce or a fund read at a newer block changes what is known and leads to no transition. */
function isChanged(before: Maker, after: Maker, transitions: readonly Transition[]): boolean {
  if (transitions.length > 0) return true;
  if (before.admission !== after.admission || before.nonce !== after.nonce) return true;
  if (before.nonceIsWatched !== after.nonceIsWatched || before.dueAtSeconds !== after.dueAtSeconds) return true;
  if (before.funding.size !== after.funding.size) return true;
  for (const [token, funding] of after.funding) if (before.funding.get(token) !== funding) return true;
  return false;
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
