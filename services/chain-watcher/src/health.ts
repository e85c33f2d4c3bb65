import { type MonotonicMs, retry, type UnixMs } from '@makerbook/contracts-primitives';
import { type Health, healthOf } from '@makerbook/http';
import type { Logger } from '@makerbook/telemetry';
import type { Worker } from './observe/holder.js';
import { isRetryable } from './retry.js';
import type { FollowedLog } from './watch/follow-log.js';
import type { WatcherState, WorkParts } from './work.js';

const KAFKA_SILENCE_MS_MAX = 15_000;
const LAG_BLOCKS_MAX = 10;
const ROLES = { HOLDER: 'holder', TAKING_OVER: 'taking over', STANDBY: 'standby' } as const;
const DONE = { blocks: 'blocks read', makers: 'makers read', followed: 'blocks followed' } as const;

/** The signs that the watcher's health is judged by. */
export interface Signs {
  readonly vitals: Pick<Vitals, 'monotonicMs' | 'unixMs' | 'startedAtMs' | 'lastTurnAtMs' | 'failures' | 'halt'>;
  readonly work: {
    readonly state: Pick<WatcherState, 'hasReadLog' | 'role' | 'awaited' | 'position'>;
    readonly followed: Pick<FollowedLog, 'newestBlock' | 'lastPollAtMs' | 'counts'>;
  };
  readonly headNumber: () => number | undefined;
}

/** Notes for the watcher's health, taken while it works: failures, and when its block loop last made progress. */
export class Vitals {
  readonly monotonicMs: () => MonotonicMs;
  readonly unixMs: () => UnixMs;
  readonly startedAtMs: MonotonicMs;
  /** When the block loop last made progress: its request was answered or failed. Other loops do not count. */
  lastTurnAtMs: MonotonicMs;
  /** Why the watcher has halted, if it has. A restart would not help. */
  halt: Error | undefined;
  /** Workers that are retrying, and why. One failure of each worker is logged until it works again. */
  readonly failures = new Map<Worker, string>();
  readonly #logger: Logger;

  constructor({ logger, monotonicMs, unixMs }: Pick<WorkParts, 'logger' | 'monotonicMs' | 'unixMs'>) {
    this.#logger = logger;
    this.monotonicMs = monotonicMs;
    this.unixMs = unixMs;
    this.startedAtMs = monotonicMs();
    this.lastTurnAtMs = this.startedAtMs;
  }

  secondsSince(atMs: MonotonicMs): number {
    return Math.max(0, (this.monotonicMs() - atMs) / 1000);
  }

  noteTurn(): void {
    this.lastTurnAtMs = this.monotonicMs();
  }

  /** Clears the failures, because those of the previous role no longer count. */
  noteRole(): void {
    this.noteTurn();
    this.failures.clear();
  }

  /** Retries a worker's work. Only the block loop notes turns: the sweep and the orders may work while it is stuck. */
  retryFor(worker: Worker, signal: AbortSignal): <T>(work: () => Promise<T>) => Promise<T> {
    const { failures } = this;
    const noteTurn = () => {
      if (worker === 'blocks') this.noteTurn();
    };
    const mayRepeat = (error: unknown) => {
      if (!isRetryable(error)) return false;
      const reason = (error as Error).message;
      noteTurn();
      if (!failures.has(worker)) this.#logger.warn({ worker, reason }, 'a dependency is down: trying again');
      failures.set(worker, reason);
      return true;
    };
    return async (work) => {
      const result = await retry(work, { mayRepeat, signal });
      noteTurn();
      if (failures.delete(worker)) this.#logger.info({ worker }, 'the dependency is back');
      return result;
    };
  }
}

/** Is OK if a restart would not help: for a standby, a block loop that works or waits, and a halted watcher. */
export function judgeLiveness(signs: Signs, silenceMsMax: number): Health {
  const { vitals, work } = signs;
  // A halted watcher ends by itself. If killed earlier, it would be gone before its metrics are scraped, and halt
  // again.
  if (vitals.halt !== undefined) return { isOk: true, checks: { loop: 'halted, and about to end' } };
  const silenceMs = vitals.monotonicMs() - vitals.lastTurnAtMs;
  const isKafkaAway = kafkaSilenceMs(signs) > KAFKA_SILENCE_MS_MAX;
  const isStuck = work.state.role === 'HOLDER' && silenceMs > silenceMsMax && !isKafkaAway;
  const loop = isStuck ? `the block loop has been stuck for ${inSeconds(silenceMs)}` : 'ok';
  return healthOf({ loop });
}

/**
 * Tells whether the watcher does its part. Nothing may be retrying. A publishing watcher has to have caught up with the
 * chain, and a standby to have read the log.
 * @param lagSecondsMax how old the newest published block may be by its timestamp; 0: any age
 */
export function judgeReadiness(signs: Signs, lagSecondsMax: number): Health {
  const { failures, halt } = signs.vitals;
  if (halt !== undefined) return healthOf({ position: `halted: ${halt.message}` });
  const silenceMs = kafkaSilenceMs(signs);
  const reasons = [...failures].map(([worker, reason]) => `${worker}: ${reason}`);
  const health = healthOf({
    kafka: silenceMs > KAFKA_SILENCE_MS_MAX ? `no broker has answered for ${inSeconds(silenceMs)}` : 'ok',
    dependencies: reasons.length > 0 ? reasons.join('; ') : 'ok',
    position: describePosition(signs, lagSecondsMax),
  });
  // Name the role, because a standby and a holder are both ready.
  return { ...health, notes: { role: ROLES[signs.work.state.role] } };
}

function kafkaSilenceMs({ vitals, work }: Signs): number {
  return vitals.monotonicMs() - Math.max(work.followed.lastPollAtMs(), vitals.startedAtMs);
}

function describePosition({ vitals, work, headNumber }: Signs, lagSecondsMax: number): string {
  const { followed } = work;
  const { hasReadLog, role, awaited, position } = work.state;
  if (!hasReadLog) return `reading the log: ${followed.counts.records} records so far`;
  if (role === 'STANDBY') return 'ok';
  if (position === undefined) {
    return awaited.length === 0 ? 'taking over' : `taking over: waiting for partition ${awaited.join(', ')} of the log`;
  }
  const { catchUp, processed, phase } = position;
  if (catchUp !== undefined) return `catching up: ${catchUp.done} of ${catchUp.total} ${DONE[catchUp.step]}`;
  if (processed === undefined) return 'no block is processed yet';
  const head = headNumber() ?? processed.number;
  const lagBlocks = head - processed.number;
  if (lagBlocks < 0) {
    const newest = followed.newestBlock()?.number ?? processed.number;
    return `the node is ${newest - head} blocks behind block ${newest}, the newest one published`;
  }
  if (phase === 'CATCHING_UP' || lagBlocks > LAG_BLOCKS_MAX) return `catching up: ${lagBlocks} blocks behind the head`;
  // A node without new blocks still answers and knows of no newer block. Only the clock shows the lag.
  const lagMs = vitals.unixMs() - processed.timestamp * 1000;
  if (lagSecondsMax === 0 || lagMs <= lagSecondsMax * 1000) return 'ok';
  return `block ${processed.number}, the newest one published, is ${inSeconds(lagMs)} old`;
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
