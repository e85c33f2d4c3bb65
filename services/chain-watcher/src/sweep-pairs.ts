import type { BlockHeader } from '@makerbook/chain';
import type { WatchedSet } from './keep-watched-set.js';
import type { FactPublisher } from './publish-facts.js';
import type { FactReader } from './read-facts.js';
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
  readonly matched: () => BlockHeader | undefined;
  /** False while the watcher is behind: its own reading comes first. */
  readonly mayRead: () => boolean;
  readonly pairsPerSecond: number;
  readonly state: SweepState;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Reads all pairs over and over, so many in a second, for tokens that change balances or allowances and say nothing
 * (rebasing, fees). Only what the log does not say already is published.
 */
export async function sweepPairs(options: SweepOptions): Promise<void> {
  const { watched, reader, publisher, matched, state, signal, nowMs, wait, retry } = options;
  const turnMs = Math.max(1000, 1000 / options.pairsPerSecond);
  const pairsPerTurn = Math.max(1, Math.floor((options.pairsPerSecond * turnMs) / 1000));
  let from = 0;
  let startedAtMs = nowMs();
  while (!signal.aborted) {
    await wait(turnMs);
    if (matched() === undefined || !options.mayRead() || signal.aborted) continue;
    const next = await retry(async () => {
      const at = matched();
      if (at === undefined) return from;
      const reread = await rereadSlots(reader, watched, at, 'SWEEP', from, pairsPerTurn);
      if (reread.facts.length > 0) await publisher.publish(reread.facts);
      state.pairs += reread.pairs;
      state.facts += reread.facts.length;
      return reread.next;
    });
    from = next ?? 0;
    if (next !== undefined) continue;
    state.endedAtMs = nowMs();
    state.tookMs = state.endedAtMs - startedAtMs;
    startedAtMs = state.endedAtMs;
  }
}
