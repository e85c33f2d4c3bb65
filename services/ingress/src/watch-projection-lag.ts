import type { Log } from '@makerbook/kafka';
import { type Postgres, projectedPositions } from '@makerbook/postgres';

/** How long the read model has been behind the log. */
export interface ProjectionLag {
  /** For how many seconds a partition has not reached an end of the log that was seen; of several the longest, else 0. */
  seconds(): number;
  stop(): void;
}

export interface ProjectionLagParts {
  readonly log: Pick<Log, 'endOffsets'>;
  readonly postgres: Postgres;
  readonly makerEventsTopic: string;
  readonly intervalMs: number;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
}

/** An end of the log that was seen, and when. */
interface Target {
  readonly end: bigint;
  readonly seenAtMs: number;
}

/**
 * Compares the ends of the log with the positions of the read model every `intervalMs`. Positions that cannot be read
 * count as unchanged; ends that cannot be read add no new target. A projector that is away, or fails at each start, shows
 * as a growing lag.
 */
export function watchProjectionLag(parts: ProjectionLagParts): ProjectionLag {
  const { log, postgres, makerEventsTopic, intervalMs, monotonicMs } = parts;
  const targets = new Map<number, Target>();
  let isComparing = false;
  const compare = async () => {
    const ends = await log.endOffsets(makerEventsTopic).catch(() => []);
    const positions = await projectedPositions(postgres).catch(() => undefined);
    for (const [partition, target] of positions === undefined ? [] : targets) {
      if ((positions?.get(partition) ?? 0n) >= target.end) targets.delete(partition);
    }
    for (const [partition, end] of ends.entries()) {
      const isBehind = positions === undefined || (positions.get(partition) ?? 0n) < end;
      if (isBehind && !targets.has(partition)) targets.set(partition, { end, seenAtMs: monotonicMs() });
    }
  };
  const timer = setInterval(() => {
    if (isComparing) return;
    isComparing = true;
    void compare().finally(() => {
      isComparing = false;
    });
  }, intervalMs);
  return {
    seconds: () => {
      const oldest = Math.min(...[...targets.values()].map(({ seenAtMs }) => seenAtMs));
      return targets.size === 0 ? 0 : Math.max(0, (monotonicMs() - oldest) / 1000);
    },
    stop: () => clearInterval(timer),
  };
}
