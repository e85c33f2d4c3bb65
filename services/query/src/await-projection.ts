/** Where the read model stands, as far as it could be asked. */
export interface Positions {
  readonly cache: bigint | undefined;
  readonly store: bigint | undefined;
}

export interface ProjectionWatch {
  /**
   * Waits until Redis or Postgres reflects the partition up to `target`, at most `timeoutMs`. Tells where they stood
   * when last asked. Throws what a question threw: a bug, for what is away answers undefined.
   */
  awaitPosition(partition: number, target: bigint, timeoutMs: number): Promise<Positions>;
}

export interface ProjectionWatchOptions {
  /** Undefined where Redis is gone or knows nothing of the partition. */
  readonly readCachePosition: (partition: number) => Promise<bigint | undefined>;
  /** Undefined where Postgres is gone. */
  readonly readStorePosition: (partition: number) => Promise<bigint | undefined>;
  /** The pause between two questions. Default 10. */
  readonly pollMs?: number;
  /** A Redis that is behind for so many questions may have missed a refresh: Postgres is asked too. Default 5. */
  readonly patiencePolls?: number;
}

interface Waiter {
  readonly target: bigint;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** One watched partition: those who wait, and what the last question answered. */
interface Watched {
  readonly waiters: Set<Waiter>;
  positions: Positions;
}

const unknown: Positions = { cache: undefined, store: undefined };

/** Lets any number of requests wait for the projection; a partition is asked by one loop, however many wait for it. */
export function createProjectionWatch(options: ProjectionWatchOptions): ProjectionWatch {
  const { readCachePosition, readStorePosition, pollMs = 10, patiencePolls = 5 } = options;
  const partitions = new Map<number, Watched>();

  async function poll(partition: number, watched: Watched): Promise<void> {
    try {
      for (let polls = 1; watched.waiters.size > 0; polls += 1) {
        const cache = await readCachePosition(partition);
        watched.positions = { ...watched.positions, cache };
        release(watched);
        if (watched.waiters.size > 0 && (cache === undefined || polls >= patiencePolls)) {
          watched.positions = { cache, store: await readStorePosition(partition) };
          release(watched);
        }
        if (watched.waiters.size > 0) await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    } catch (error) {
      for (const waiter of [...watched.waiters]) waiter.reject(error);
    }
    partitions.delete(partition);
  }

  function start(partition: number): Watched {
    const watched: Watched = { waiters: new Set(), positions: unknown };
    partitions.set(partition, watched);
    // Begins after the first waiter has been added.
    queueMicrotask(() => void poll(partition, watched));
    return watched;
  }

  return {
    async awaitPosition(partition, target, timeoutMs) {
      const watched = partitions.get(partition) ?? start(partition);
      await new Promise<void>((done, fail) => {
        const waiter: Waiter = { target, resolve: () => settle(done), reject: (error) => settle(() => fail(error)) };
        const timer = setTimeout(waiter.resolve, timeoutMs);
        watched.waiters.add(waiter);
        function settle(tell: () => void): void {
          clearTimeout(timer);
          watched.waiters.delete(waiter);
          tell();
        }
      });
      return watched.positions;
    },
  };
}

function release({ waiters, positions }: Watched): void {
  const { cache = -1n, store = -1n } = positions;
  for (const waiter of [...waiters]) if (waiter.target <= cache || waiter.target <= store) waiter.resolve();
}
