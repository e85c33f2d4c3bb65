import type { AppendedAt } from '@makerbook/kafka';
import type { ReadModel } from '@makerbook/postgres';

/** How long the rows have been behind what this process has appended. */
export interface ProjectionLag {
  /** The log has acknowledged these facts. */
  appended(facts: readonly AppendedAt[]): void;
  /** For how many seconds an acknowledged fact has not been in the rows; of several the longest, else 0. */
  seconds(): number;
  stop(): void;
}

export interface ProjectionLagParts {
  readonly rows: Pick<ReadModel, 'projectedPositions'>;
  readonly intervalMs: number;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
}

/** A fact that is not in the rows, as far as is known. */
interface Awaited {
  readonly offset: bigint;
  readonly sinceMs: number;
}

/**
 * Compares what was appended with the positions of the rows every `intervalMs`, as long as something is awaited. Positions
 * that cannot be read count as unchanged. A projector that is away, or fails at each start, shows as a growing lag.
 */
export function watchProjectionLag({ rows, intervalMs, monotonicMs }: ProjectionLagParts): ProjectionLag {
  const awaited = new Map<number, Awaited>();
  let isComparing = false;
  const compare = async () => {
    const positions = await rows.projectedPositions();
    for (const [partition, { offset }] of awaited) {
      if ((positions.get(partition) ?? 0n) > offset) awaited.delete(partition);
    }
  };
  const timer = setInterval(() => {
    if (isComparing || awaited.size === 0) return;
    isComparing = true;
    void compare()
      .catch(() => undefined)
      .finally(() => {
        isComparing = false;
      });
  }, intervalMs);
  return {
    appended(facts) {
      for (const { partition, offset } of facts) {
        if (!awaited.has(partition)) awaited.set(partition, { offset, sinceMs: monotonicMs() });
      }
    },
    seconds() {
      const oldest = Math.min(...[...awaited.values()].map(({ sinceMs }) => sinceMs));
      return awaited.size === 0 ? 0 : Math.max(0, (monotonicMs() - oldest) / 1000);
    },
    stop: () => clearInterval(timer),
  };
}
