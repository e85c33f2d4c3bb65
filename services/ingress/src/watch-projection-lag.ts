import type { AppendedAt } from '@makerbook/kafka';
import type { ReadModel } from '@makerbook/postgres';

/** How often the rows are compared with what was appended. */
const INTERVAL_MS = 1_000;

/** Measures how long the rows have been behind what this process has appended. */
export type ProjectionLag = ReturnType<typeof watchProjectionLag>;

/**
 * Compares what was appended with the positions of the rows, as long as something is awaited. Positions that cannot be read
 * count as unchanged. A projector that is away, or fails at each start, shows as a growing lag.
 */
export function watchProjectionLag(rows: Pick<ReadModel, 'projectedPositions'>) {
  /** The first fact of each partition that is not known to be in the rows. */
  const awaited = new Map<number, { readonly offset: bigint; readonly sinceMs: number }>();
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
  }, INTERVAL_MS);
  return {
    /** The log has acknowledged these facts. */
    appended(facts: readonly AppendedAt[]): void {
      for (const { partition, offset } of facts) {
        if (!awaited.has(partition)) awaited.set(partition, { offset, sinceMs: performance.now() });
      }
    },
    /** The seconds for which an acknowledged fact has been missing in the rows: the longest, or 0. */
    seconds(): number {
      const oldest = Math.min(...[...awaited.values()].map(({ sinceMs }) => sinceMs));
      return awaited.size === 0 ? 0 : Math.max(0, (performance.now() - oldest) / 1000);
    },
    stop: (): void => clearInterval(timer),
  };
}
