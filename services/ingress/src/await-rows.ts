import type { AppendedAt } from '@makerbook/kafka';
import { type After, type ReadModel, unlessAway } from '@makerbook/postgres';

const POLL_MS = 10;

export type RowsWatch = ReturnType<typeof watchRows>;

/** Reads the positions of the rows over and over; all requests that wait share each reading. */
export function watchRows(rows: Pick<ReadModel, 'projectedPositions'>, now: () => number, after: After) {
  let reading: Promise<ReadonlyMap<number, bigint> | undefined> | undefined;
  const read = () => {
    reading ??= unlessAway(rows.projectedPositions()).finally(() => {
      reading = undefined;
    });
    return reading;
  };
  return {
    /** Waits until the rows have passed these facts, at most so long. False: they have not, or Postgres does not answer. */
    async hasPassed(facts: readonly AppendedAt[], timeoutMs: number): Promise<boolean> {
      const deadlineMs = now() + timeoutMs;
      for (;;) {
        const positions = await read();
        if (positions === undefined) return false;
        if (facts.every(({ partition, offset }) => (positions.get(partition) ?? 0n) > offset)) return true;
        if (now() >= deadlineMs) return false;
        await new Promise<void>((done) => after(POLL_MS, done));
      }
    },
  };
}
