import { accountIn } from '@makerbook/chain';
import type { MakerFact } from '@makerbook/contracts-events';
import { isNews } from './is-news.js';
import type { ReadPoint } from './keep-read-point.js';
import type { WatchedSet } from './keep-watched-set.js';
import type { TouchedPair } from './match-logs.js';
import type { FactPublisher } from './publish-facts.js';
import { type FactReader, readFacts } from './read-facts.js';
import { rereadSlots } from './reread-pairs.js';

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
  /** False while the watcher is behind: its own reading comes first. */
  readonly mayRead: () => boolean;
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
 * or allowances and say nothing (rebasing, fees); and those that could not be read, some blocks later. Only what the log
 * does not say already is published.
 */
export async function sweepPairs(options: SweepOptions): Promise<void> {
  const { watched, reader, publisher, readPoint, pairsPerSecond, state, signal, nowMs, wait, retry } = options;
  const publish = async (facts: readonly MakerFact[], pairs: number) => {
    if (facts.length > 0) await publisher.publish(facts);
    state.pairs += pairs;
    state.facts += facts.length;
  };
  let from = 0;
  let startedAtMs = nowMs();
  let unreadableDue = 0;
  while (!signal.aborted) {
    await wait(TURN_MS);
    if (!readPoint.isKnown || !options.mayRead() || signal.aborted) continue;
    const unreadable = unreadablePairs(reader, watched);
    if (unreadable.length > 0) {
      unreadableDue = await retry(async () => {
        const at = await readPoint.at();
        if (at.number < unreadableDue) return unreadableDue;
        const facts = await readFacts(reader, { pairs: unreadable, makers: [], orders: [] }, at);
        const news = facts.filter((fact) => isNews(fact, watched));
        await publish(news, unreadable.length);
        return at.number + UNREADABLE_BLOCKS;
      });
    }
    if (pairsPerSecond === 0) continue;
    const next = await retry(async () => {
      const reread = await rereadSlots(reader, watched, await readPoint.at(), 'SWEEP', from, pairsPerSecond);
      await publish(reread.facts, reread.pairs);
      return reread.next;
    });
    from = next ?? 0;
    if (next !== undefined) continue;
    state.endedAtMs = nowMs();
    state.tookMs = state.endedAtMs - startedAtMs;
    startedAtMs = state.endedAtMs;
  }
}

/** Pairs with a value that could not be read when it was last asked: those that have waited longest. */
function unreadablePairs({ state }: FactReader, watched: WatchedSet): TouchedPair[] {
  const pairs = new Map<number, TouchedPair>();
  for (const call of state.suspects().values()) {
    const maker = accountIn(call);
    const pair = maker === undefined ? -1 : watched.findPair(call.to, maker);
    if (maker === undefined || pair < 0) continue;
    pairs.set(pair, { maker, token: call.to, cause: { kind: 'read', occasion: 'SWEEP' } });
    if (pairs.size === UNREADABLE_PAIRS_MAX) break;
  }
  return [...pairs.values()];
}

const TURN_MS = 1000;
/** How many blocks later, and how many at a time. */
const UNREADABLE_BLOCKS = 10;
const UNREADABLE_PAIRS_MAX = 20;
