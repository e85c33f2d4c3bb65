import { type AppendedAt, type Log, LogUnavailable } from '@makerbook/kafka';
import { type After, createProjectionWatch, PostgresUnavailable, type ReadModel } from '@makerbook/postgres';
import { Unavailable } from './refusal.js';

export interface Projection {
  /** Waits until the partition's read model has reached the present end of the log. Throws Unavailable. */
  reachEnd(partition: number): Promise<void>;
  /** The same for all partitions, for a hash of unknown maker. Returns their ends. Throws Unavailable. */
  reachEndEverywhere(): Promise<readonly bigint[]>;
  /** Waits until the read model has passed these facts, at most so long. False: it has not, or does not answer. */
  hasPassed(facts: readonly AppendedAt[], timeoutMs: number): Promise<boolean>;
}

export interface ProjectionParts {
  readonly log: Pick<Log, 'endOffsets'>;
  readonly rows: Pick<ReadModel, 'projectedPositions'>;
  readonly makerEventsTopic: string;
  /** How long to wait before giving up. */
  readonly waitMs: number;
  readonly after: After;
}

/** Compares the positions of the read model with the end of the log, which is read first. */
export function createProjection({ log, rows, makerEventsTopic, waitMs, after }: ProjectionParts): Projection {
  const watch = createProjectionWatch({ readStorePositions: rows.projectedPositions, after });

  async function ends(): Promise<readonly bigint[]> {
    try {
      return await log.endOffsets(makerEventsTopic, { timeoutMs: waitMs });
    } catch (error) {
      if (error instanceof LogUnavailable) throw new Unavailable('the log does not answer', { cause: error });
      throw error;
    }
  }

  async function reach(partition: number, end: bigint): Promise<void> {
    const { store = -1n } = await asUnavailable(() => watch.awaitPosition(partition, end, waitMs));
    if (store < end) throw new Unavailable('the read model is behind the log');
  }

  return {
    async reachEnd(partition) {
      await reach(partition, (await ends())[partition] ?? 0n);
    },
    async reachEndEverywhere() {
      const all = await ends();
      await Promise.all(all.map((end, partition) => reach(partition, end)));
      return all;
    },
    async hasPassed(facts, timeoutMs) {
      try {
        const positions = await Promise.all(
          facts.map(({ partition, offset }) => watch.awaitPosition(partition, offset + 1n, timeoutMs)),
        );
        return positions.every(({ store = -1n }, n) => store > (facts[n]?.offset ?? store));
      } catch (error) {
        if (error instanceof PostgresUnavailable) return false;
        throw error;
      }
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
