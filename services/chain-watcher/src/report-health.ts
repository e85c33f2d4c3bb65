import { type Health, healthOf } from '@makerbook/http';
import type { WatcherState } from './keep-position.js';

/** What the health of the watcher is told from. Times in milliseconds since 1970. */
export interface Signs {
  readonly nowMs: number;
  readonly startedAtMs: number;
  readonly state: Readonly<WatcherState>;
  readonly headNumber: number | undefined;
  /** When a node or Kafka last answered, or was last given up. */
  readonly lastTurnAtMs: number;
  /** When a broker last answered the follower of the log. */
  readonly lastPollAtMs: number;
  /** What is being tried again, and why. */
  readonly failures: readonly string[];
  readonly hasHalted: boolean;
  readonly logRecords: number;
}

const KAFKA_SILENCE_MS_MAX = 15_000;
const STUCK_MS_MAX = 300_000;
const LAG_BLOCKS_MAX = 10;

/** Whether a restart would not help: the loop turns, be it that it waits for a dependency. */
export function judgeLiveness(signs: Signs): Health {
  const { nowMs, lastTurnAtMs, hasHalted, state } = signs;
  const silenceMs = nowMs - lastTurnAtMs;
  // Without Kafka the loop has nothing to turn for.
  const isKafkaAway = kafkaSilenceMs(signs) > KAFKA_SILENCE_MS_MAX;
  const isStuck = state.phase !== 'READING_LOG' && silenceMs > STUCK_MS_MAX && !isKafkaAway;
  const loop = hasHalted ? 'halted' : isStuck ? `no turn for ${Math.round(silenceMs / 1000)} s` : 'ok';
  return healthOf({ loop });
}

/** Whether the chain's facts reach the log: log and chain are caught up with, and nothing is being tried again. */
export function judgeReadiness(signs: Signs): Health {
  const { state, failures, headNumber, logRecords } = signs;
  const silenceMs = kafkaSilenceMs(signs);
  const lagBlocks = (headNumber ?? 0) - (state.processed?.number ?? headNumber ?? 0);
  return healthOf({
    kafka: silenceMs > KAFKA_SILENCE_MS_MAX ? `no broker has answered for ${Math.round(silenceMs / 1000)} s` : 'ok',
    dependencies: failures.length > 0 ? failures.join('; ') : 'ok',
    position: describePosition(state, lagBlocks, logRecords),
  });
}

function kafkaSilenceMs({ nowMs, startedAtMs, lastPollAtMs }: Signs): number {
  return nowMs - Math.max(lastPollAtMs, startedAtMs);
}

function describePosition({ phase, catchUp, processed }: WatcherState, lagBlocks: number, logRecords: number): string {
  if (phase === 'READING_LOG') return `reading the log: ${logRecords} records so far`;
  if (catchUp !== undefined) return `catching up at the head: ${catchUp.done} of ${catchUp.total} ${catchUp.step} read`;
  if (processed === undefined) return 'no block is processed yet';
  return phase === 'CATCHING_UP' || lagBlocks > LAG_BLOCKS_MAX
    ? `catching up: ${lagBlocks} blocks behind the head`
    : 'ok';
}
