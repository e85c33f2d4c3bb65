import type { LogPlace } from '@makerbook/kafka';
import type { PartitionClockRow } from '@makerbook/postgres';
import type { FollowAcksOptions } from './follow-acks.js';

const POLL_MS = 10;
/** How often the rows are compared with what was appended. */
const LAG_INTERVAL_MS = 1_000;

export type Projection = ReturnType<typeof followProjection>;

/** Tells how far the rows have come in the log. Calls at the same time share one read of the clocks. */
export function followProjection(
  readClocks: () => Promise<readonly PartitionClockRow[]>,
  { monotonicMs, pause }: Pick<FollowAcksOptions, 'monotonicMs' | 'pause'>,
) {
  /** The first appended fact of each partition that is not known to be in the rows. */
  const awaited = new Map<number, LogPlace & { readonly sinceMs: number }>();
  let reading: Promise<ReadonlyMap<number, bigint>> | undefined;
  let isStopped = false;

  function readPositions(): Promise<ReadonlyMap<number, bigint>> {
    reading ??= readClocks()
      .then((clocks) => new Map(clocks.map(({ partition, nextOffset }) => [partition, nextOffset])))
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  async function watchLag(): Promise<void> {
    while (!isStopped) {
      await pause(LAG_INTERVAL_MS);
      if (awaited.size === 0) continue;
      // Positions that cannot be read count as unchanged.
      const positions = await readPositions().catch(() => new Map<number, bigint>());
      for (const fact of awaited.values()) if (isPassed(positions, fact)) awaited.delete(fact.partition);
    }
  }

  void watchLag();
  return {
    /** Call it when the log has acknowledged these facts. */
    appended(facts: readonly LogPlace[]): void {
      for (const fact of facts) {
        if (!awaited.has(fact.partition)) awaited.set(fact.partition, { ...fact, sinceMs: monotonicMs() });
      }
    },
    /**
     * The longest time in seconds for which an acknowledged fact has been missing in the rows, or 0.
     * @param partitions only facts in these; all by default
     */
    lagSeconds(partitions: Iterable<number> = awaited.keys()): number {
      const oldestMs = Math.min(
        ...[...partitions].map((each) => awaited.get(each)?.sinceMs ?? Number.POSITIVE_INFINITY),
      );
      return Math.max(0, (monotonicMs() - oldestMs) / 1000);
    },
    /** Waits until the rows have passed these facts, or `timeoutMs`. @returns whether. Throws what Postgres throws. */
    async havePassed(facts: readonly LogPlace[], timeoutMs: number): Promise<boolean> {
      const deadlineMs = monotonicMs() + timeoutMs;
      for (;;) {
        const positions = await readPositions();
        if (facts.every((fact) => isPassed(positions, fact))) return true;
        if (monotonicMs() >= deadlineMs) return false;
        await pause(POLL_MS);
      }
    },
    stop(): void {
      isStopped = true;
    },
  };
}

function isPassed(positions: ReadonlyMap<number, bigint>, { partition, offset }: LogPlace): boolean {
  return (positions.get(partition) ?? 0n) > offset;
}
