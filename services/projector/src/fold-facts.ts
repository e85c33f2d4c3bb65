import type { MakerEvent } from '@makerbook/contracts-events';
import {
  type Address,
  evolve,
  forgetUnrouted,
  type Maker,
  type Placed,
  type Rules,
  rememberHashes,
  type Transition,
} from '@makerbook/domain';
import type { KnownHashes } from '@makerbook/postgres';
import type { LoggedFact } from './read-facts.js';

/** What the fold of a stretch has to be given: everything that the stretch can touch. */
export interface FoldInput {
  readonly facts: readonly LoggedFact[];
  /** The partition's clock before the first fact: the greatest block timestamp so far, in seconds. */
  readonly clockSeconds: number;
  readonly blockNumber: number | undefined;
  /** The makers that the facts are about, and those with orders that become due or that a block's watcher did not know. */
  readonly makers: ReadonlyMap<Address, Maker>;
  /** Those among them of whose rows some cannot be understood, and why: nothing about them can be folded. */
  readonly unreadable: ReadonlyMap<Address, string>;
  /** All makers of the partition for whom a block could not be folded, with its offset. */
  readonly halted: ReadonlyMap<Address, bigint>;
  /** What became of submitted and cancelled hashes before these facts. */
  readonly known: KnownHashes;
  readonly routingGraceSeconds: number;
  /** The fold of one maker; a test puts a broken one here. */
  readonly evolve?: typeof evolve;
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
  /** Those that are still halted. */
  readonly halted: ReadonlyMap<Address, bigint>;
  /** In the order of the log; what one fact did to several makers, by their address. */
  readonly happened: readonly Happened[];
}

/** A fact that the fold cannot take: an invariant would break for this maker. */
export class UnfoldableFact extends Error {
  override readonly name = 'UnfoldableFact';
  readonly offset: bigint;
  readonly maker: Address;

  constructor(offset: bigint, maker: Address, cause: unknown) {
    super(`the fold refuses it: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.offset = offset;
    this.maker = maker;
  }
}

/**
 * Folds a stretch of one partition. Pure, and it makes no difference how the partition is cut into stretches.
 * @throws UnfoldableFact naming the first fact of a maker that cannot be folded, which may be a block
 */
export function foldFacts(input: FoldInput): Folded {
  const { blocks, byMaker, clockSeconds, blockNumber } = sortByMaker(input);
  const rules: Rules = {
    routingGraceSeconds: input.routingGraceSeconds,
    wasRemoved: (orderHash) => input.known.accepted.has(orderHash),
    wasCancelled: (orderHash) => input.known.cancelled.has(orderHash),
  };
  const fold = input.evolve ?? evolve;
  for (const [address, reason] of input.unreadable) {
    const first = byMaker.get(address)?.[0] ?? blocks[0];
    if (first !== undefined) throw new UnfoldableFact(first.offset, address, reason);
  }
  const makers = new Map<Address, Maker>();
  const halted = new Map(input.halted);
  const happened: Happened[] = [];
  const sources = new Map(input.facts.map((fact) => [fact.offset, fact]));
  for (const [address, before] of input.makers) {
    const facts = mergeByOffset(byMaker.get(address) ?? [], blocks);
    const wasHalted = halted.has(address);
    const { maker, transitions, isHalted } = foldOrName(before, facts, (some) =>
      wasHalted ? evolveHalted(before, some, rules, fold) : { ...fold(before, some, rules), isHalted: false },
    );
    if (wasHalted && !isHalted) halted.delete(address);
    if (wasHalted !== isHalted || isChanged(before, maker, transitions)) makers.set(address, maker);
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
  return { clockSeconds, blockNumber, makers, halted, happened };
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

interface FoldedMaker {
  readonly maker: Maker;
  readonly transitions: readonly Transition[];
  readonly isHalted: boolean;
}

/**
 * The fold of a halted maker. Blocks pass it over until a fact about it was folded; the next one then looks at all of its
 * orders, and if that goes well, or none is left, the maker is halted no more. What the blocks have missed that passed it
 * over is not known: orders that are out of the book, as all were at those blocks, are to be read anew. One fact at a
 * time, so that it makes no difference where stretches end.
 */
function evolveHalted(
  before: Maker,
  facts: readonly Placed<MakerEvent>[],
  rules: Rules,
  fold: typeof evolve,
): FoldedMaker {
  const hashes = rememberHashes(rules);
  const ownRules: Rules = { ...rules, ...hashes };
  const transitions: Transition[] = [];
  let maker = before;
  let isHalted = true;
  for (const placed of facts) {
    const { fact } = placed;
    const isBlock = fact.type === 'BlockProcessed';
    if (isHalted && isBlock && Math.max(placed.clockSeconds, fact.block.timestamp) < maker.dueAtSeconds) continue;
    const evolved = fold(maker, [placed], ownRules);
    maker = evolved.maker;
    hashes.note(evolved.transitions);
    transitions.push(...evolved.transitions);
    if (!isHalted) continue;
    isHalted = !isBlock && maker.orders.size > 0;
    if (isHalted) maker = { ...maker, dueAtSeconds: 0 };
    if (!isBlock || isHalted) continue;
    const unrouted = forgetUnrouted(maker, placed.offset, ownRules);
    maker = unrouted.maker;
    transitions.push(...unrouted.transitions);
  }
  return { maker, transitions, isHalted };
}

function foldOrName(
  before: Maker,
  facts: readonly Placed<MakerEvent>[],
  fold: (facts: readonly Placed<MakerEvent>[]) => FoldedMaker,
): FoldedMaker {
  try {
    return fold(facts);
  } catch {
    throw nameUnfoldable(before, facts, fold);
  }
}

function nameUnfoldable(
  { maker }: Maker,
  facts: readonly Placed<MakerEvent>[],
  fold: (facts: readonly Placed<MakerEvent>[]) => FoldedMaker,
): Error {
  for (let count = 1; count <= facts.length; count += 1) {
    try {
      fold(facts.slice(0, count));
    } catch (error) {
      return new UnfoldableFact(facts[count - 1]?.offset ?? -1n, maker, error);
    }
  }
  return new Error(`the facts of ${maker} fold one by one and not together`);
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
