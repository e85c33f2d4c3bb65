import { type Health, healthOf } from '@makerbook/http';
import type { WatcherState } from './keep-position.js';

/** What the health of the watcher is told from. Times in milliseconds since 1970. */
export interface Signs {
  readonly nowMs: number;
  readonly startedAtMs: number;
  readonly state: Readonly<WatcherState>;
  readonly headNumber: number | undefined;
  /** When the block loop last turned: what it asked for was answered, or failed. What goes on beside it does not count. */
  readonly lastTurnAtMs: number;
  /** When a broker last answered the follower of the log. */
  readonly lastPollAtMs: number;
  /** Partitions that do not show yet what was published to them: the block loop waits until they do. */
  readonly awaitedPartitions: readonly number[];
  /** What is being tried again, and why. */
  readonly failures: readonly string[];
  /** Why it has halted; undefined while it has not. */
  readonly halt: string | undefined;
  readonly logRecords: number;
}

const KAFKA_SILENCE_MS_MAX = 15_000;
const LAG_BLOCKS_MAX = 10;

/** Whether a restart would not help: the block loop turns, be it that it waits for a dependency, or has halted. */
export function judgeLiveness(signs: Signs, silenceMsMax: number): Health {
  const { nowMs, lastTurnAtMs, halt, state } = signs;
  // It ends by itself: killed before, it would be gone before its metrics are scraped, and halt again.
  if (halt !== undefined) return { isOk: true, checks: { loop: 'halted, and about to end' } };
  const silenceMs = nowMs - lastTurnAtMs;
  // Without Kafka the loop has nothing to turn for.
  const isKafkaAway = kafkaSilenceMs(signs) > KAFKA_SILENCE_MS_MAX;
  const isStuck = state.phase !== 'READING_LOG' && silenceMs > silenceMsMax && !isKafkaAway;
  const loop = isStuck ? `no turn for ${inSeconds(silenceMs)}${describeWait(signs)}` : 'ok';
  return healthOf({ loop });
}

/**
 * Whether the chain's facts reach the log: log and chain are caught up with, and nothing is being tried again.
 * @param lagSecondsMax how old the newest published block may be by its timestamp; 0: as old as it is
 */
export function judgeReadiness(signs: Signs, lagSecondsMax: number): Health {
  const { failures, halt } = signs;
  if (halt !== undefined) return healthOf({ position: `halted: ${halt}` });
  const silenceMs = kafkaSilenceMs(signs);
  return healthOf({
    kafka: silenceMs > KAFKA_SILENCE_MS_MAX ? `no broker has answered for ${inSeconds(silenceMs)}` : 'ok',
    dependencies: failures.length > 0 ? failures.join('; ') : 'ok',
    position: describePosition(signs, lagSecondsMax),
  });
}

function kafkaSilenceMs({ nowMs, startedAtMs, lastPollAtMs }: Signs): number {
  return nowMs - Math.max(lastPollAtMs, startedAtMs);
}

function describePosition(signs: Signs, lagSecondsMax: number): string {
  const { phase, catchUp, processed } = signs.state;
  if (phase === 'READING_LOG') return `reading the log: ${signs.logRecords} records so far`;
  if (catchUp !== undefined) {
    return `catching up: ${catchUp.done} of ${catchUp.total} ${DONE[catchUp.step]}`;
  }
  if (processed === undefined) return 'no block is processed yet';
  const lagBlocks = (signs.headNumber ?? processed.number) - processed.number;
  if (lagBlocks < 0) return `the node is ${-lagBlocks} blocks behind block ${processed.number}, which is published`;
  if (phase === 'CATCHING_UP' || lagBlocks > LAG_BLOCKS_MAX) return `catching up: ${lagBlocks} blocks behind the head`;
  // A node that stands still answers, and knows of no newer block: only the clock tells.
  const lagMs = signs.nowMs - processed.timestamp * 1000;
  if (lagSecondsMax === 0 || lagMs <= lagSecondsMax * 1000) return 'ok';
  return `block ${processed.number}, the newest one published, is ${inSeconds(lagMs)} old${describeWait(signs)}`;
}

const DONE = { blocks: 'blocks read', makers: 'makers read', followed: 'blocks followed' } as const;

function describeWait({ awaitedPartitions }: Signs): string {
  return awaitedPartitions.length > 0 ? `: it waits for partition ${awaitedPartitions.join(', ')} of the log` : '';
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
