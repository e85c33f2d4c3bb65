import { pause, type UnixMs } from '@makerbook/contracts-primitives';
import { HASH_MEMORY_SECONDS } from '@makerbook/domain';
import type { Log } from '@makerbook/kafka';
import type { Postgres } from '@makerbook/postgres';
import type { Logger } from '@makerbook/telemetry';
import { type Pruned, pruneHashes, pruneHistory, STEP_MAX } from '../store/prune-history.js';

export interface PruneParts {
  readonly log: Pick<Log, 'offsetsAt'>;
  readonly postgres: Pick<Postgres, 'query'>;
  /** `limit-orders.maker-events.v1` */
  readonly makerEventsTopic: string;
  /** The partitions that this process owns now. */
  readonly owned: () => Iterable<number>;
  readonly historyDays: number;
  /** The pause between two rounds. */
  readonly intervalMs: number;
  readonly unixMs: () => UnixMs;
  readonly pruned: (rows: number) => void;
  readonly logger: Pick<Logger, 'warn'>;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Deletes rows that are too old, partition by partition, in rounds. The fold reads none of them, so nothing depends on
 * when a round runs, or whether it does.
 */
export function startPruning(parts: PruneParts): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const steps: SmallSteps = new Map();
  const done = (async () => {
    for (;;) {
      // By the first round the partitions have been taken.
      await pause(parts.intervalMs, signal);
      if (signal.aborted) return;
      await pruneOnce(parts, signal, steps).catch((error: unknown) => {
        parts.logger.warn({ reason: String(error) }, 'old rows were not pruned: retrying in the next round');
      });
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

/** The size of the next step after a failed one, keyed by what it deletes. */
type SmallSteps = Map<string, number>;

/**
 * Runs one round. After a failed step the rest of its rows waits for the next round, which takes smaller steps.
 * @throws LogUnavailable
 */
export async function pruneOnce(parts: PruneParts, signal: AbortSignal, steps: SmallSteps = new Map()): Promise<void> {
  const { log, postgres, makerEventsTopic, owned, historyDays, unixMs, pruned, logger } = parts;
  const kept = await log.offsetsAt(makerEventsTopic, unixMs() - historyDays * DAY_MS);
  const untilDone = async (rows: string, prune: (stepMax: number) => Promise<Pruned>) => {
    const stepMax = steps.get(rows) ?? STEP_MAX;
    try {
      for (let isDone = false; !isDone && !signal.aborted; ) {
        const step = await prune(stepMax);
        pruned(step.rows);
        isDone = step.isDone;
      }
      steps.delete(rows);
    } catch (error) {
      steps.set(rows, Math.ceil(stepMax / 4));
      logger.warn(
        { rows, stepMax, reason: String(error) },
        'old rows were not pruned: smaller steps in the next round',
      );
    }
  };
  for (const partition of owned()) {
    const before = kept[partition];
    // Delete nothing if no record is younger: the log has stopped, or the clock here is far ahead.
    if (before !== undefined) {
      await untilDone(`history of ${partition}`, (max) => pruneHistory(postgres, partition, before, max));
    }
    await untilDone(`hashes of ${partition}`, (max) => pruneHashes(postgres, partition, HASH_MEMORY_SECONDS, max));
  }
}
