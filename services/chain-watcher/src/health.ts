import { type Health, healthOf } from '@makerbook/http';
import type { Logger } from '@makerbook/telemetry';
import type { Worker } from './observe/holder-work.js';
import { retrying } from './retry.js';
import type { LogBlock } from './watch/follow-log.js';
import type { WatcherState, Work } from './work.js';

/** What the health of the watcher is judged by. Times in milliseconds of a clock that never goes back. */
export interface Signs {
  readonly nowMs: number;
  /** Milliseconds since 1970. */
  readonly unixMs: number;
  readonly startedAtMs: number;
  readonly state: Pick<WatcherState, 'hasReadLog' | 'role' | 'awaited' | 'position'>;
  /** The newest block of the log. */
  readonly newestBlock: LogBlock | undefined;
  readonly headNumber: number | undefined;
  /** When the block loop last went on: what it asked for was answered, or failed. What goes on beside it does not count. */
  readonly lastTurnAtMs: number;
  /** When a broker last answered the follower of the log. */
  readonly lastPollAtMs: number;
  /** What is being tried again, and why. */
  readonly failures: readonly string[];
  /** Why it has halted; undefined while it has not. */
  readonly halt: string | undefined;
  readonly logRecords: number;
}

export interface VitalsOptions {
  readonly logger: Logger;
  /** Milliseconds that never go back. */
  readonly nowMs: () => number;
  /** Milliseconds since 1970. */
  readonly unixMs: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What is noted while the watcher works, for its health: failures, and when its block loop last went on. */
export class Vitals {
  readonly startedAtMs: number;
  lastTurnAtMs: number;
  /** Why a restart would not help. */
  halt: Error | undefined;
  /** One failure of each worker is logged, until it works again. */
  private readonly failures = new Map<Worker, string>();
  private readonly options: VitalsOptions;

  constructor(options: VitalsOptions) {
    this.options = options;
    this.startedAtMs = options.nowMs();
    this.lastTurnAtMs = this.startedAtMs;
  }

  noteTurn(): void {
    this.lastTurnAtMs = this.options.nowMs();
  }

  noteFailure(worker: Worker, { message: reason }: Error): void {
    if (worker === 'blocks') this.noteTurn();
    if (!this.failures.has(worker)) {
      this.options.logger.warn({ worker, reason }, 'a dependency is away: trying again');
    }
    this.failures.set(worker, reason);
  }

  /** What failed in another role does not count any more. */
  noteRole(): void {
    this.noteTurn();
    this.failures.clear();
  }

  /** Of the block loop alone: the sweep and the orders may go on while it is stuck. */
  noteSuccess(worker: Worker): void {
    if (worker === 'blocks') this.noteTurn();
    if (this.failures.delete(worker)) this.options.logger.info({ worker }, 'the dependency is back');
  }

  retryFor(worker: Worker, signal: AbortSignal): <T>(work: () => Promise<T>) => Promise<T> {
    const onFailure = (error: Error) => this.noteFailure(worker, error);
    const onSuccess = () => this.noteSuccess(worker);
    const wait = (ms: number) => this.options.wait(ms, signal);
    return (work) => retrying(work, { signal, wait, onFailure, onSuccess });
  }

  signs({ state, followed }: Pick<Work, 'state' | 'followed'>, headNumber: number | undefined): Signs {
    return {
      nowMs: this.options.nowMs(),
      unixMs: this.options.unixMs(),
      startedAtMs: this.startedAtMs,
      state,
      newestBlock: followed.newestBlock(),
      headNumber,
      lastTurnAtMs: this.lastTurnAtMs,
      lastPollAtMs: followed.lastPollAtMs(),
      failures: [...this.failures].map(([worker, reason]) => `${worker}: ${reason}`),
      halt: this.halt?.message,
      logRecords: followed.counts().records,
    };
  }
}

const KAFKA_SILENCE_MS_MAX = 15_000;
const LAG_BLOCKS_MAX = 10;

/** Whether a restart would not help: it is a standby, or its block loop goes on, or waits for a dependency, or has halted. */
export function judgeLiveness(signs: Signs, silenceMsMax: number): Health {
  const { nowMs, lastTurnAtMs, halt, state } = signs;
  // It ends by itself: killed before, it would be gone before its metrics are scraped, and halt again.
  if (halt !== undefined) return { isOk: true, checks: { loop: 'halted, and about to end' } };
  const silenceMs = nowMs - lastTurnAtMs;
  const isKafkaAway = kafkaSilenceMs(signs) > KAFKA_SILENCE_MS_MAX;
  const isStuck = state.role === 'HOLDER' && silenceMs > silenceMsMax && !isKafkaAway;
  const loop = isStuck ? `the block loop has not gone on for ${inSeconds(silenceMs)}` : 'ok';
  return healthOf({ loop });
}

/**
 * Whether the watcher does its part: the one that publishes has caught up with the chain, and nothing is being tried again;
 * a standby has read the log.
 * @param lagSecondsMax how old the newest published block may be by its timestamp; 0: as old as it is
 */
export function judgeReadiness(signs: Signs, lagSecondsMax: number): Health {
  const { failures, halt } = signs;
  if (halt !== undefined) return healthOf({ position: `halted: ${halt}` });
  const silenceMs = kafkaSilenceMs(signs);
  const health = healthOf({
    kafka: silenceMs > KAFKA_SILENCE_MS_MAX ? `no broker has answered for ${inSeconds(silenceMs)}` : 'ok',
    dependencies: failures.length > 0 ? failures.join('; ') : 'ok',
    position: describePosition(signs, lagSecondsMax),
  });
  // A standby would look like a holder: both are ready.
  return { ...health, notes: { role: ROLES[signs.state.role] } };
}

function kafkaSilenceMs({ nowMs, startedAtMs, lastPollAtMs }: Signs): number {
  return nowMs - Math.max(lastPollAtMs, startedAtMs);
}

function describePosition(signs: Signs, lagSecondsMax: number): string {
  const { newestBlock, headNumber } = signs;
  const { hasReadLog, role, awaited, position } = signs.state;
  if (!hasReadLog) return `reading the log: ${signs.logRecords} records so far`;
  if (role === 'STANDBY') return 'ok';
  if (position === undefined) {
    return awaited.length === 0 ? 'taking over' : `taking over, waits for partition ${awaited.join(', ')} of the log`;
  }
  const { catchUp, processed, phase } = position;
  if (catchUp !== undefined) return `catching up: ${catchUp.done} of ${catchUp.total} ${DONE[catchUp.step]}`;
  if (processed === undefined) return 'no block is processed yet';
  const lagBlocks = (headNumber ?? processed.number) - processed.number;
  const newest = newestBlock?.number ?? processed.number;
  if (lagBlocks < 0)
    return `the node is ${newest - (headNumber ?? 0)} blocks behind block ${newest}, which is published`;
  if (phase === 'CATCHING_UP' || lagBlocks > LAG_BLOCKS_MAX) return `catching up: ${lagBlocks} blocks behind the head`;
  // A node without new blocks answers, and knows of no newer one: only the clock shows it.
  const lagMs = signs.unixMs - processed.timestamp * 1000;
  if (lagSecondsMax === 0 || lagMs <= lagSecondsMax * 1000) return 'ok';
  return `block ${processed.number}, the newest one published, is ${inSeconds(lagMs)} old`;
}

const ROLES = { HOLDER: 'holder', TAKING_OVER: 'taking over', STANDBY: 'standby' } as const;
const DONE = { blocks: 'blocks read', makers: 'makers read', followed: 'blocks followed' } as const;

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
