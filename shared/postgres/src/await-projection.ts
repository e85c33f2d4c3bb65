/** The log positions of one partition that Redis and Postgres reflect, as read last; undefined: not read, or away. */
export interface Positions {
  readonly cache: bigint | undefined;
  readonly store: bigint | undefined;
}

export interface ProjectionWatch {
  /**
   * Waits until Redis or Postgres reflects the partition up to `target`, at most `timeoutMs`. Returns the positions that
   * were read last. Rejects with the error of a read.
   */
  awaitPosition(partition: number, target: bigint, timeoutMs: number): Promise<Positions>;
}

/** Does the work after the time, unless it is called off. */
export type After = (ms: number, work: () => void) => () => void;

export interface ProjectionWatchOptions {
  /** Position in Redis; undefined where Redis is away or has no position of the partition. Absent: only Postgres is read. */
  readonly readCachePosition?: (partition: number) => Promise<bigint | undefined>;
  /** Positions in Postgres of all partitions that have one; undefined where Postgres is away. */
  readonly readStorePositions: () => Promise<ReadonlyMap<number, bigint> | undefined>;
  /** Pause between two reads. Default 10. */
  readonly pollMs?: number;
  /** Default: a timer of this process. */
  readonly after?: After;
  /** Reads of Redis after which Postgres is read too: Redis may have missed a refresh. Default 5. */
  readonly patiencePolls?: number;
}

interface Waiter {
  readonly target: bigint;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A partition with waiting requests, and the positions read last. */
interface Watched {
  readonly waiters: Set<Waiter>;
  positions: Positions;
}

const unknown: Positions = { cache: undefined, store: undefined };

/**
 * Lets any number of requests wait for the projection. Each partition has one polling loop, and one query of Postgres
 * serves the loops of all partitions.
 */
export function createProjectionWatch(options: ProjectionWatchOptions): ProjectionWatch {
  const { readCachePosition = async () => undefined, pollMs = 10, patiencePolls = 5, after = startTimer } = options;
  const readStorePositions = shareCalls(options.readStorePositions);
  const partitions = new Map<number, Watched>();

  async function poll(partition: number, watched: Watched): Promise<void> {
    try {
      for (let polls = 1; watched.waiters.size > 0; polls += 1) {
        const cache = await readCachePosition(partition);
        watched.positions = { ...watched.positions, cache };
        release(watched);
        if (watched.waiters.size > 0 && (cache === undefined || polls >= patiencePolls)) {
          const positions = await readStorePositions();
          const store = positions === undefined ? undefined : (positions.get(partition) ?? 0n);
          watched.positions = { cache, store };
          release(watched);
        }
        if (watched.waiters.size > 0) await new Promise<void>((done) => after(pollMs, done));
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
        const callOff = after(timeoutMs, waiter.resolve);
        watched.waiters.add(waiter);
        function settle(report: () => void): void {
          callOff();
          watched.waiters.delete(waiter);
          report();
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

function startTimer(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}

/** Calls made while one is under way get its result: positions only grow, so an older reading is still a lower bound. */
function shareCalls<T>(call: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= call().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
