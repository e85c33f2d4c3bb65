import type { Address } from '@makerbook/domain';
import { FatalError, PoisonRecord, type StoredRecord } from '@makerbook/kafka';
import {
  type DueMaker,
  findDueMakers,
  findKnownHashes,
  findMissedMakers,
  InvariantBroken,
  readMakers,
} from '@makerbook/postgres';
import { boundStretch, hashesToFind } from './bound-stretch.js';
import { type CommitParts, commitStretch } from './commit-stretch.js';
import { describeFeeds, type FeedRules } from './describe-feeds.js';
import { describeBlock, foldBlock } from './fold-block.js';
import { type FoldInput, foldFacts, UnfoldableFact } from './fold-facts.js';
import { describeHalts } from './halt-makers.js';
import { type LoadedMakers, loadMakers } from './load-makers.js';
import type { OwnedPartition } from './own-partition.js';
import { type Concerned, ordersOf, planStretch, type StretchPlan } from './plan-stretch.js';
import type { LoggedFact } from './read-facts.js';
import { describeRows } from './save-transitions.js';
import type { Turns } from './take-turns.js';

export interface StretchParts extends CommitParts {
  /** Bound on the orders that one commit changes, and on those that it loads because they may be due. */
  readonly commitTransitionsMax: number;
  /** Shared by all partitions of the process. */
  readonly turns: Turns;
  /** More makers than these do not break by themselves: it is the fold, and the process stops before it harms them all. */
  readonly haltedMakersMax: number;
  /** All partitions of the process. */
  readonly owned: ReadonlyMap<number, OwnedPartition>;
}

/** What the consumer loop lends to the handling of a batch. */
export interface BatchHold {
  /** Throws when the partition is no longer this process's. */
  readonly heartbeat: () => void;
  readonly park: (record: StoredRecord, reason: string) => Promise<void>;
}

/**
 * Folds facts up to `nextOffset`, or fewer where they would do too much at once, and moves the position: commits, then
 * publishes the feeds and refreshes the caches. A block at which too much is due is folded in slices, one for each call.
 * @throws UnfoldableFact, PoisonRecord: one fact alone cannot be folded. What a block breaks of a maker halts that maker.
 * @throws FatalError where too many makers would be halted
 */
export async function projectStretch(
  one: OwnedPartition,
  facts: readonly LoggedFact[],
  nextOffset: bigint,
  parts: StretchParts,
  hold: BatchHold,
): Promise<void> {
  const plan = await planFor(one, facts, parts);
  const done = await parts.turns.take(plan.count + ordersOf(plan.due));
  try {
    hold.heartbeat();
    await projectPlanned(one, facts, nextOffset, plan, parts, hold);
  } finally {
    done();
  }
}

function planFor(one: OwnedPartition, facts: readonly LoggedFact[], parts: StretchParts): Promise<StretchPlan> {
  const start = { ...one, nextDueSeconds: one.untried.size > 0 ? 0 : one.nextDueSeconds };
  return planStretch(facts, start, parts.commitTransitionsMax, (concerned, makersMax) =>
    findConcerned(one, concerned, makersMax, parts),
  );
}

/** By address, as what one block does to several makers is told. */
async function findConcerned(
  { partition, untried }: OwnedPartition,
  { clockSeconds, missed }: Concerned,
  makersMax: number,
  { postgres }: StretchParts,
): Promise<readonly DueMaker[]> {
  const found = await Promise.all([
    clockSeconds === undefined ? [] : findDueMakers(postgres, partition, clockSeconds, makersMax),
    missed === undefined ? [] : findMissedMakers(postgres, partition, missed, makersMax),
  ]);
  const tried = [...untried].map((maker) => ({ maker, openOrders: 0 }));
  // The makers that are found come with their orders, and so win over those that are tried.
  const makers = new Map([...tried, ...found.flat()].map((one) => [one.maker, one]));
  return [...makers.values()].sort((a, b) => (a.maker < b.maker ? -1 : 1)).slice(0, makersMax);
}

async function projectPlanned(
  one: OwnedPartition,
  facts: readonly LoggedFact[],
  nextOffset: bigint,
  plan: StretchPlan,
  parts: StretchParts,
  hold: BatchHold,
): Promise<void> {
  const startedAtMs = parts.nowMs();
  const planned = facts.slice(0, plan.count);
  const loaded = await loadTouched(one, planned, plan.due, parts);
  const count = boundStretch(planned, loaded.makers, parts.commitTransitionsMax, ordersOf(plan.due));
  const taken = planned.slice(0, count);
  const [first] = taken;
  const end = facts[plan.isWhole ? count : 0]?.offset ?? nextOffset;
  if (count === 1 && first?.fact.type === 'BlockProcessed') {
    return projectBlock(one, first, loaded, { isWhole: plan.isWhole, nextOffset: end, startedAtMs }, parts, hold);
  }
  try {
    await foldTogether(one, taken, loaded, { isWhole: true, nextOffset: end, startedAtMs }, parts);
  } catch (error) {
    const fewer = fewerFacts(error, taken);
    if (fewer === undefined) {
      // Where no fact about a maker can be folded nobody keeps its orders up to date: the next block looks at that.
      if (error instanceof UnfoldableFact && loaded.unreadable.has(error.maker)) {
        assertFew([error.maker], error.message, parts);
        one.untried.add(error.maker);
      }
      throw error;
    }
    const some = facts.slice(0, fewer);
    const somePlan = await planFor(one, some, parts);
    await projectPlanned(one, some, facts[fewer]?.offset ?? nextOffset, somePlan, parts, hold);
  }
}

/** With how many of the facts to try again: fewer and fewer, until one is alone to blame. */
function fewerFacts(error: unknown, facts: readonly LoggedFact[]): number | undefined {
  if (error instanceof UnfoldableFact) {
    const index = facts.findIndex(({ offset }) => offset === error.offset);
    return facts[index]?.fact.type === 'BlockProcessed' ? Math.max(1, index) : undefined;
  }
  if (!(error instanceof InvariantBroken)) return undefined;
  const [first] = facts;
  if (first === undefined) throw new FatalError(error.message, { cause: error });
  if (facts.length === 1) throw new PoisonRecord(error.message, { offset: first.offset, cause: error });
  return facts.length >> 1;
}

async function loadTouched(
  one: OwnedPartition,
  facts: readonly LoggedFact[],
  due: readonly DueMaker[],
  parts: StretchParts,
): Promise<LoadedMakers> {
  const touched = new Set(due.map(({ maker }) => maker));
  for (const { fact } of facts) if (fact.type !== 'BlockProcessed') touched.add(fact.maker);
  const { makers, unreadable } = await loadMakers(touched, one.cache, parts.postgres);
  if (one.untried.size === 0) return { makers, unreadable };
  const tried = [...makers].map(([address, maker]) => {
    return [address, one.untried.has(address) ? { ...maker, dueAtSeconds: 0 } : maker] as const;
  });
  return { makers: new Map(tried), unreadable };
}

/** Where a commit leads to. */
interface End {
  /** False: a slice of one block; the position stays before it. */
  readonly isWhole: boolean;
  readonly nextOffset: bigint;
  readonly startedAtMs: number;
}

async function foldTogether(
  one: OwnedPartition,
  facts: readonly LoggedFact[],
  loaded: LoadedMakers,
  end: End,
  parts: StretchParts,
): Promise<void> {
  const known = await findKnownHashes(parts.postgres, hashesToFind(facts, loaded.makers));
  const folded = foldFacts({ ...foldInput(one, facts, loaded, parts), known });
  const feeds = describeFeeds(folded.happened, feedRules(one, parts));
  const rows = describeRows(loaded.makers, folded);
  await commitStretch(one, { ...end, facts, before: loaded.makers, folded, rows, feeds, halts: [] }, parts);
}

/**
 * Folds one block, which is about every maker: one for whom it breaks an invariant is halted, and harms nobody else.
 * @param refused the maker of whom the read model has refused a row, where that is certain
 */
async function projectBlock(
  one: OwnedPartition,
  block: LoggedFact,
  loaded: LoadedMakers,
  end: End,
  parts: StretchParts,
  hold: BatchHold,
  refused: ReadonlyMap<Address, string> = new Map(),
): Promise<void> {
  const addresses = [...loaded.makers.keys(), ...loaded.unreadable.keys()].sort();
  const [only, ...others] = addresses;
  try {
    await foldApart(one, block, loaded, end, parts, hold, refused);
  } catch (error) {
    if (!(error instanceof InvariantBroken)) throw error;
    if (only === undefined || refused.size > 0) {
      throw new PoisonRecord(error.message, { offset: block.offset, cause: error });
    }
    // The read model refused a row of somebody: a slice of fewer makers, until one is alone to blame.
    const fewer = others.length > 0 ? addresses.slice(0, addresses.length >> 1) : [only];
    const blamed = others.length > 0 ? undefined : new Map([[only, error.message]]);
    const some = {
      makers: new Map([...loaded.makers].filter(([address]) => fewer.includes(address))),
      unreadable: new Map([...loaded.unreadable].filter(([address]) => fewer.includes(address))),
    };
    const slice = others.length > 0 ? { ...end, isWhole: false, nextOffset: block.offset } : end;
    await projectBlock(one, block, some, slice, parts, hold, blamed);
  }
}

async function foldApart(
  one: OwnedPartition,
  block: LoggedFact,
  loaded: LoadedMakers,
  end: End,
  parts: StretchParts,
  hold: BatchHold,
  refused: ReadonlyMap<Address, string>,
): Promise<void> {
  const rules = feedRules(one, parts);
  const foldedBlock = foldBlock(foldInput(one, [block], loaded, parts), rules, refused);
  const broken = [...foldedBlock.broken.keys()];
  const stored = broken.length === 0 ? [] : (await readMakers(parts.postgres, broken)).orders;
  const halts = describeHalts(foldedBlock.broken, stored);
  if (halts[0] !== undefined) assertFew(broken, halts[0].reason, parts);
  for (const { maker, reason } of halts) {
    // Once for each time that a maker is halted, and not again while it stays so.
    if (one.halted.has(maker)) continue;
    const record = { ...block.record, headers: { ...block.record.headers, 'parked-maker': maker } };
    await hold.park(record, `for ${maker} alone: ${reason}`);
  }
  const described = describeBlock(foldedBlock, loaded.makers, halts, block, rules);
  await commitStretch(one, { ...end, ...described, facts: [block], before: loaded.makers, halts }, parts);
}

/** Stops before anything is parked or committed. */
function assertFew(broken: readonly Address[], reason: string, { owned, haltedMakersMax }: StretchParts): void {
  const partitions = [...owned.values()];
  const halted = new Set(partitions.flatMap((one) => [...one.halted.keys()]));
  if (broken.every((maker) => halted.has(maker))) return;
  const all = new Set([...halted, ...broken, ...partitions.flatMap(({ untried }) => [...untried])]);
  if (all.size <= haltedMakersMax) return;
  throw new FatalError(`${all.size} makers cannot be folded, more than may be halted; ${broken[0]}: ${reason}`);
}

function feedRules({ partition }: OwnedPartition, { topics, routingGraceSeconds }: StretchParts): FeedRules {
  return { partition, topics, routingGraceSeconds };
}

function foldInput(
  { clockSeconds, blockNumber, halted }: OwnedPartition,
  facts: readonly LoggedFact[],
  { makers, unreadable }: LoadedMakers,
  { routingGraceSeconds }: StretchParts,
): FoldInput {
  const known = { accepted: new Set<never>(), cancelled: new Set<never>() };
  return { facts, clockSeconds, blockNumber, makers, unreadable, halted, known, routingGraceSeconds };
}
