import { setTimeout as pause } from 'node:timers/promises';
import { HASH_MEMORY_SECONDS } from '@makerbook/domain';
import type { Log } from '@makerbook/kafka';
import { type Postgres, type Pruned, pruneHashes, pruneHistory } from '@makerbook/postgres';
import type { Logger } from '@makerbook/telemetry';

export interface PruneParts {
  readonly log: Pick<Log, 'offsetsAt'>;
  readonly postgres: Pick<Postgres, 'query'>;
  /** `limit-orders.maker-events.v1` */
  readonly makerEventsTopic: string;
  /** The partitions that this process owns now. */
  readonly owned: () => Iterable<number>;
  readonly historyDays: number;
  readonly nowMs: () => number;
  readonly logger: Pick<Logger, 'warn'>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const INTERVAL_MS = 60_000;
/** Hashes that outlive their history are looked for maker by maker. */
const ROUNDS_PER_HASHES = 60;

/**
 * Deletes rows that are too old, once a minute and partition by partition. The fold reads none of them, so nothing depends on
 * when that happens, or whether it does.
 */
export function startPruning(parts: PruneParts): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const done = (async () => {
    for (let round = 0; !signal.aborted; round += 1) {
      await pruneOnce(parts, round % ROUNDS_PER_HASHES === 0, signal).catch((error: unknown) => {
        parts.logger.warn({ reason: String(error) }, 'old rows were not pruned: tried again in a minute');
      });
      await pause(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

/**
 * @param withHashes also those that have outlived their history
 * @throws LogUnavailable, PostgresUnavailable
 */
export async function pruneOnce(parts: PruneParts, withHashes: boolean, signal: AbortSignal): Promise<void> {
  const { log, postgres, makerEventsTopic, owned, historyDays, nowMs } = parts;
  const kept = await log.offsetsAt(makerEventsTopic, nowMs() - historyDays * DAY_MS);
  const hashSeconds = HASH_MEMORY_SECONDS;
  for (const partition of owned()) {
    // Without a younger record all of the log is older.
    const before = kept[partition] ?? OFFSET_MAX;
    await untilDone(signal, () => pruneHistory(postgres, partition, { before, hashSeconds }));
    if (withHashes) await untilDone(signal, () => pruneHashes(postgres, partition, { hashSeconds }));
  }
}

const OFFSET_MAX = 2n ** 63n - 1n;

async function untilDone(signal: AbortSignal, prune: () => Promise<Pruned>): Promise<void> {
  for (let isDone = false; !isDone && !signal.aborted; ) ({ isDone } = await prune());
}
