import type { AppendedAt } from '@makerbook/kafka';
import { type After, type ReadModel, unlessAway } from '@makerbook/postgres';

export interface RowsWatch {
  /** Waits until the rows have passed these facts, at most so long. False: they have not, or Postgres does not answer. */
  hasPassed(facts: readonly AppendedAt[], timeoutMs: number): Promise<boolean>;
}

export interface RowsWatchParts {
  readonly rows: Pick<ReadModel, 'projectedPositions'>;
  readonly now: () => number;
  readonly after: After;
}

const POLL_MS = 10;

/** Reads the positions of the rows over and over; all requests that wait share each reading. */
export function watchRows({ rows, now, after }: RowsWatchParts): RowsWatch {
  let reading: Promise<ReadonlyMap<number, bigint> | undefined> | undefined;
  const read = () => {
    reading ??= unlessAway(rows.projectedPositions()).finally(() => {
      reading = undefined;
    });
    return reading;
  };
  return {
    async hasPassed(facts, timeoutMs) {
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
