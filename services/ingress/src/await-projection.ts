import { type Log, LogUnavailable } from '@makerbook/kafka';
import { type Postgres, PostgresUnavailable, projectedPosition, projectedPositions } from '@makerbook/postgres';
import { Unavailable } from './refusal.js';

const POLL_MS = 20;

export interface Projection {
  /** Waits until the partition's read model has reached the log's end as of now. Throws Unavailable. */
  reachEnd(partition: number): Promise<void>;
  /** The same for all partitions: for a hash of which nobody knows the maker. Throws Unavailable. */
  reachEndEverywhere(): Promise<void>;
}

export interface ProjectionParts {
  readonly log: Pick<Log, 'endOffsets'>;
  readonly postgres: Postgres;
  readonly makerEventsTopic: string;
  /** How long to wait before giving up. */
  readonly waitMs: number;
  readonly now: () => number;
}

/** Asks how far the read model is behind the log; the log's end is asked for first. */
export function createProjection({ log, postgres, makerEventsTopic, waitMs, now }: ProjectionParts): Projection {
  async function ends(): Promise<readonly bigint[]> {
    try {
      return await log.endOffsets(makerEventsTopic, { timeoutMs: waitMs });
    } catch (error) {
      if (error instanceof LogUnavailable) throw new Unavailable('the log does not answer', { cause: error });
      throw error;
    }
  }

  async function poll(isThere: () => Promise<boolean>): Promise<void> {
    const deadline = now() + waitMs;
    while (!(await asUnavailable(isThere))) {
      if (now() >= deadline) throw new Unavailable('the read model is behind the log');
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  return {
    async reachEnd(partition) {
      const end = (await ends())[partition] ?? 0n;
      await poll(async () => (await projectedPosition(postgres, partition)) >= end);
    },
    async reachEndEverywhere() {
      const end = await ends();
      await poll(async () => {
        const positions = await projectedPositions(postgres);
        return end.every((offset, partition) => (positions.get(partition) ?? 0n) >= offset);
      });
    },
  };
}

/** Runs a read of the read model; a Postgres that is away is Unavailable. */
export async function asUnavailable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PostgresUnavailable) throw new Unavailable('the read model does not answer', { cause: error });
    throw error;
  }
}
