import type { FactPublisher } from './publish/publish-observed.js';
import { isRetryable } from './retry.js';
import type { FollowedLog } from './watch/follow-log.js';

/** The watcher's role in the election; read by metrics and health, written by `lead`. */
export interface LeadState {
  role: 'STANDBY' | 'CANDIDATE' | 'HOLDER';
  /** Partitions that do not show the own term record yet. */
  awaited: readonly number[];
}

export interface LeadOptions {
  readonly followed: FollowedLog;
  readonly publisher: Pick<FactPublisher, 'startTerm' | 'endTerm'>;
  readonly state: LeadState;
  /** Names this process; no other one has the same. */
  readonly holder: string;
  /** Number of the newest block that the own node has. */
  readonly headNumber: () => number | undefined;
  /** A standby takes over when the log has had no new block for so long though the own node has newer ones. */
  readonly takeoverMs: number;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onFailure: (error: Error) => void;
  readonly onRole: (role: LeadState['role'], term: number) => void;
  /** Publishes facts about the chain, until the signal is aborted. */
  readonly work: (term: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Takes part in the election of the one publishing watcher until the signal is aborted: waits as a standby, is a candidate
 * when the holder is gone, publishes while it holds the term, and is a standby again when a higher term is in the log. Where it holds the term
 * at the end, it resigns.
 */
export async function lead(options: LeadOptions): Promise<void> {
  const { state, signal, onRole, work, publisher, holder } = options;
  while (!signal.aborted) {
    await standBy(options);
    if (signal.aborted) break;
    state.role = 'CANDIDATE';
    const term = await elect(options);
    if (term !== undefined) {
      state.role = 'HOLDER';
      onRole('HOLDER', term);
      await holdTerm(term, options, work);
    }
    state.role = 'STANDBY';
    onRole('STANDBY', newestTerm(options).term);
  }
  const { term, isOwn } = newestTerm(options);
  if (isOwn) await publisher.endTerm(term, holder);
}

/** The newest term of the log, and what partition 0, in which it is decided, has of it. */
function newestTerm({ followed: { partitions }, holder }: LeadOptions) {
  const term = Math.max(...partitions.map((each) => each.term));
  const decided = partitions[0]?.term === term ? partitions[0] : undefined;
  return { term, hasEnded: decided?.hasEnded === true, isOwn: term > 0 && decided?.holder === holder };
}

/**
 * Resolves when this process may be a candidate: no term was ever started, or the last one has ended, or the log has had no
 * new block for `takeoverMs` though the own node has newer ones. That time doubles with each term that ended without a
 * block, so that a long catch-up is not started over and over.
 */
async function standBy(options: LeadOptions): Promise<void> {
  const { followed, headNumber, takeoverMs, signal, nowMs, wait } = options;
  let overdue = { block: -1, term: 0, forMs: 0 };
  let checkedAtMs = nowMs();
  while (!signal.aborted) {
    const { term, hasEnded, isOwn } = newestTerm(options);
    if (term === 0 || hasEnded || isOwn) return;
    const now = nowMs();
    const block = followed.newestBlock()?.number ?? -1;
    // A process that was paused, or is cut from Kafka, does not know the log of the time in between.
    const isInformed = now - followed.lastPollAtMs() <= POLL_AGE_MS_MAX;
    const sinceMs = isInformed ? Math.min(now - checkedAtMs, CHECK_MS_MAX) : 0;
    checkedAtMs = now;
    const isOverdue = (headNumber() ?? -1) > block;
    const isSame = isOverdue && overdue.block === block && overdue.term === term;
    overdue = { block, term, forMs: isSame ? overdue.forMs + sinceMs : 0 };
    const patienceMs = takeoverMs * 2 ** Math.min(followed.termsWithoutBlock(), DOUBLINGS_MAX);
    if (isSame && overdue.forMs >= patienceMs) return;
    await wait(TICK_MS);
  }
}

/**
 * Starts the next term in partition 0. Of several candidates the first one in the log has it. Then starts it in all other
 * partitions, and reads the log up to there: from then on no order is unknown that another watcher has read.
 * @returns the term; undefined where another one has it, or the log is away
 */
async function elect(options: LeadOptions): Promise<number | undefined> {
  const { followed, publisher, holder, signal, retry, onFailure, state, wait } = options;
  const { partitions } = followed;
  const termOf = (partition: number) => partitions[partition]?.term ?? 0;
  if (!newestTerm(options).isOwn) {
    const next = newestTerm(options).term + 1;
    try {
      await publisher.startTerm(0, next, holder);
    } catch (error) {
      if (!isRetryable(error)) throw error;
      // It may be in the log all the same: then it is the own term, and goes on from here.
      onFailure(error as Error);
      await wait(TICK_MS);
      return undefined;
    }
    await followed.until(() => termOf(0) >= next, signal);
  }
  const { term, isOwn } = newestTerm(options);
  if (signal.aborted || !isOwn) return undefined;
  const lacking = () => [...partitions.keys()].filter((partition) => termOf(partition) < term);
  await retry(async () => {
    for (const partition of lacking()) await publisher.startTerm(partition, term, holder);
  });
  state.awaited = lacking();
  await followed.until(() => {
    state.awaited = lacking();
    return state.awaited.length === 0 || termOf(0) > term;
  }, signal);
  state.awaited = [];
  return signal.aborted || partitions.some((each) => each.term !== term) ? undefined : term;
}

/** Works until the signal is aborted or a higher term is in the log. */
async function holdTerm(term: number, options: LeadOptions, work: LeadOptions['work']): Promise<void> {
  const { followed, signal } = options;
  const lost = new AbortController();
  const over = AbortSignal.any([signal, lost.signal]);
  const isSuperseded = () => followed.partitions.some((each) => each.term > term);
  const watching = followed.until(isSuperseded, over).then(() => lost.abort());
  try {
    await work(term, over);
  } catch (error) {
    if (!(over.aborted && isRetryable(error))) throw error;
  } finally {
    lost.abort();
    await watching;
  }
}

const TICK_MS = 100;
/** More time between two checks than this does not count: the process was paused, or overloaded. */
const CHECK_MS_MAX = 500;
const POLL_AGE_MS_MAX = 2000;
const DOUBLINGS_MAX = 7;
