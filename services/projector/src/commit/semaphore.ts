/** Lets a bounded number of tasks run at once. */
export interface Semaphore {
  /** Runs the task when there is room, first come, first served. */
  readonly run: <T>(task: () => Promise<T>) => Promise<T>;
}

/** @param permits how many tasks run at once */
export function createSemaphore(permits: number): Semaphore {
  let free = permits;
  const waiting: (() => void)[] = [];
  return {
    run: async (task) => {
      if (free > 0) free -= 1;
      else {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      }
      try {
        return await task();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
