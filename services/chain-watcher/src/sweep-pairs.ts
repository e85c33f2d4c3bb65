import { accountIn, type BlockHeader } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { isNews } from './is-news.js';
import type { ReadPoint } from './keep-read-point.js';
import type { WatchedSet } from './keep-watched-set.js';
import { pairAt, type Touched, type TouchedPair } from './match-logs.js';
import type { FactPublisher } from './publish-facts.js';
import { type FactReader, readFacts } from './read-facts.js';
import type { Turns } from './take-turns.js';

/** Where the sweep stands, for metrics. */
export interface SweepState {
  /** When the last sweep over all pairs ended, and how long it took; undefined before the first. */
  endedAtMs: number | undefined;
  tookMs: number | undefined;
  /** Pairs read by the sweep since the start, and facts that no log had told. */
  pairs: number;
  facts: number;
}

export interface SweepOptions {
  readonly watched: WatchedSet;
  readonly reader: FactReader;
  readonly publisher: FactPublisher;
  readonly readPoint: ReadPoint;
  readonly turns: Turns;
  /** Up to this block the log says what changed. Undefined while the watcher is behind: its own reading comes first. */
  readonly processedBlock: () => number | undefined;
  /** 0: none, but what could not be read is read again all the same. */
  readonly pairsPerSecond: number;
  readonly state: SweepState;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Reads pairs anew that no log touches: all of them over and over, so many in a second, for tokens that change balances
 * or allowances and say nothing (rebasing, fees); and those that could not be read, some blocks later. They are read at the
 * block that was processed last, so that what else it did is in the log. Only what the log does not say already is published.
 */
export async function sweepPairs(options: SweepOptions): Promise<void> {
  const { watched, reader, publisher, readPoint, turns, processedBlock, pairsPerSecond } = options;
  const { state, signal, nowMs, wait, retry } = options;
  /** Undefined where it is to be done later: what else changed by the block to be read at is not in the log yet. */
  const readAndPublish = (touched: Touched): Promise<BlockHeader | undefined> =>
    retry(() =>
      turns.take(async () => {
        const at = await readPoint.at();
        if (at.number !== processedBlock()) return undefined;
        const facts = await readFacts(reader, touched, at);
        const news = facts.filter((fact) => isNews(fact, watched));
        if (news.length > 0) await publisher.publish(news);
        state.pairs += touched.pairs.length;
        state.facts += news.length;
        return at;
      }),
    );
  let from = 0;
  let startedAtMs = nowMs();
  let unreadableDueBlock = 0;
  while (!signal.aborted) {
    await wait(TURN_MS);
    const processed = processedBlock();
    if (processed === undefined || signal.aborted) continue;
    const unreadable = processed < unreadableDueBlock ? [] : unreadablePairs(reader, watched);
    if (unreadable.length > 0) {
      const at = await readAndPublish({ pairs: unreadable, makers: [], orders: [] });
      if (at !== undefined) unreadableDueBlock = at.number + UNREADABLE_BLOCKS;
    }
    if (pairsPerSecond === 0) continue;
    const { touched, next } = nextPairs(watched, from, pairsPerSecond);
    if (touched.pairs.length > 0 && (await readAndPublish(touched)) === undefined) continue;
    from = next ?? 0;
    if (next !== undefined) continue;
    state.endedAtMs = nowMs();
    state.tookMs = state.endedAtMs - startedAtMs;
    startedAtMs = state.endedAtMs;
  }
}

/** Watched pairs with slots from `from` on, and their makers; and the slot to go on from, undefined when none is left. */
function nextPairs(
  watched: WatchedSet,
  from: number,
  countMax: number,
): { readonly touched: Touched; readonly next: number | undefined } {
  const touched: Touched = { pairs: [], makers: [], orders: [] };
  const makers = new Set<Address>();
  const end = watched.slotsEnd;
  let slot = from;
  for (; slot < end && touched.pairs.length < countMax; slot += 1) {
    if (!watched.isPairWatched(slot)) continue;
    const pair = pairAt(slot, watched, CAUSE);
    touched.pairs.push(pair);
    const { maker } = pair;
    if (!makers.has(maker)) touched.makers.push({ maker, cause: CAUSE });
    makers.add(maker);
  }
  return { touched, next: slot < end ? slot : undefined };
}

/** Pairs with a value that could not be read when it was last asked: those that have waited longest. */
function unreadablePairs({ state }: FactReader, watched: WatchedSet): TouchedPair[] {
  const pairs = new Map<number, TouchedPair>();
  for (const call of state.suspects().values()) {
    const maker = accountIn(call);
    const pair = maker === undefined ? -1 : watched.findPair(call.to, maker);
    if (maker === undefined || pair < 0) continue;
    pairs.set(pair, { maker, token: call.to, cause: CAUSE });
    if (pairs.size === UNREADABLE_PAIRS_MAX) break;
  }
  return [...pairs.values()];
}

const CAUSE: Cause = { kind: 'read', occasion: 'SWEEP' };
const TURN_MS = 1000;
/** How many blocks later, and how many at a time. */
const UNREADABLE_BLOCKS = 10;
const UNREADABLE_PAIRS_MAX = 20;
