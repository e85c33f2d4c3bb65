import type { MonotonicMs } from '@makerbook/contracts-primitives';
import type { BlockSource } from './blocks/source.js';
import type { WatcherSettings } from './env.js';
import type { FollowedLog } from './watch/follow-log.js';

const TICK_MS = 100;
/** Time between two checks counts up to this: beyond it the process was paused or overloaded. */
const CHECK_MS_MAX = 500;
const POLL_AGE_MS_MAX = 2000;
const DOUBLINGS_MAX = 7;

export interface LeadOptions {
  readonly signal: AbortSignal;
  readonly monotonicMs: () => MonotonicMs;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly source: Pick<BlockSource, 'headNumber'>;
  readonly settings: Pick<WatcherSettings, 'TAKEOVER_MS'>;
  readonly followed: FollowedLog;
  /** Takes over and publishes, until the signal is aborted or another watcher has taken over. */
  readonly publish: () => Promise<void>;
}

/** How often this process has taken over since the log had this newest block. */
interface Tried {
  readonly block: number;
  readonly times: number;
}

/**
 * Alternates between standing by and publishing until the signal is aborted. Only the log's fence decides which watcher
 * may publish: the one that took over last.
 */
export async function lead(options: LeadOptions): Promise<void> {
  const { signal, publish } = options;
  let tried: Tried = { block: -1, times: 0 };
  while (!signal.aborted) {
    await standBy(options, tried);
    if (signal.aborted) return;
    const block = options.followed.newestNumber();
    tried = { block, times: tried.block === block ? tried.times + 1 : 1 };
    await publish();
  }
}

/**
 * Resolves when this process should take over: at once if no block was ever processed or the holder has resigned.
 * Otherwise waits until the log has had no new block for some time, and the own node a newer one for half that time.
 * The time doubles with each own take-over that led to no block, because a long catch-up must not start over and over.
 * It then has a random part, or two standbys would take over from each other in turn.
 */
async function standBy(options: LeadOptions, tried: Tried): Promise<void> {
  const { followed, source, settings, signal, monotonicMs, wait } = options;
  const spread = 1 + options.random();
  let seen = { block: Number.NaN, silentMs: 0, overdueMs: 0 };
  let checkedAtMs = monotonicMs();
  while (!signal.aborted) {
    const block = followed.newestNumber();
    const times = tried.block === block ? tried.times : 0;
    if (times === 0 && (block < 0 || followed.isResigned)) return;
    const now = monotonicMs();
    // A process that was paused or cut off from Kafka does not know what the log got meanwhile.
    const isInformed = now - followed.lastPollAtMs() <= POLL_AGE_MS_MAX;
    const sinceMs = isInformed ? Math.min(now - checkedAtMs, CHECK_MS_MAX) : 0;
    checkedAtMs = now;
    const isSame = block === seen.block;
    const isOverdue = isSame && (source.headNumber() ?? -1) > block;
    seen = {
      block,
      silentMs: isSame ? seen.silentMs + sinceMs : 0,
      overdueMs: isOverdue ? seen.overdueMs + sinceMs : 0,
    };
    const patienceMs = settings.TAKEOVER_MS * (times === 0 ? 1 : spread * 2 ** Math.min(times, DOUBLINGS_MAX));
    if (isOverdue && seen.silentMs >= patienceMs && seen.overdueMs >= patienceMs / 2) return;
    await wait(TICK_MS, signal);
  }
}
