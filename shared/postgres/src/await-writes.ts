import type { Hex } from '@makerbook/contracts-primitives';
import type { ListState } from './read-lists.js';

export interface WriteWatch {
  /**
   * Waits until none of the writes that `begun` names is unsettled any more. Returns the newest state, with those of them that
   * are left after the longest wait; undefined where Postgres went away. What the maker writes meanwhile is not waited for.
   */
  awaitSettled(maker: Hex, begun: ListState): Promise<ListState | undefined>;
}

export interface WriteWatchOptions {
  /** Undefined where Postgres is away. */
  readonly readState: (maker: Hex) => Promise<ListState | undefined>;
  readonly waitMsMax: number;
  /** Pause between two reads. Default 10. */
  readonly pollMs?: number;
  /** Does the work after the time, unless it is called off. Default: a timer of this process. */
  readonly after?: After;
}

/** Does the work after the time, unless it is called off. */
export type After = (ms: number, work: () => void) => () => void;

interface Waiter {
  readonly show: (state: ListState | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/** Lets any number of requests wait for writes. The requests of one maker share one polling loop. */
export function createWriteWatch(options: WriteWatchOptions): WriteWatch {
  const { readState, waitMsMax, pollMs = 10, after = startTimer } = options;
  const watched = new Map<Hex, Set<Waiter>>();

  async function poll(maker: Hex, waiters: Set<Waiter>): Promise<void> {
    while (waiters.size > 0) {
      await new Promise<void>((done) => after(pollMs, done));
      // Leaves out those who come during the read, because the read may be older than their writes.
      const waiting = [...waiters];
      try {
        const state = await readState(maker);
        for (const { show } of waiting) show(state);
      } catch (error) {
        for (const { fail } of waiting) fail(error);
      }
    }
    watched.delete(maker);
  }

  function join(maker: Hex, waiter: Waiter): Set<Waiter> {
    const waiters = watched.get(maker);
    if (waiters !== undefined) return waiters.add(waiter);
    const first = new Set([waiter]);
    watched.set(maker, first);
    void poll(maker, first);
    return first;
  }

  return {
    async awaitSettled(maker, begun) {
      if (begun.unsettled.length === 0) return begun;
      return new Promise((resolve, reject) => {
        let newest = begun;
        const waiter: Waiter = {
          show(state) {
            if (state === undefined) return settle(() => resolve(undefined));
            const left = new Set(state.unsettled);
            newest = { ...state, unsettled: begun.unsettled.filter((key) => left.has(key)) };
            if (newest.unsettled.length === 0) settle(() => resolve(newest));
          },
          fail: (error) => settle(() => reject(error)),
        };
        const callOff = after(waitMsMax, () => settle(() => resolve(newest)));
        const waiters = join(maker, waiter);
        function settle(report: () => void): void {
          callOff();
          waiters.delete(waiter);
          report();
        }
      });
    },
  };
}

/** A timer of this process. */
export const startTimer: After = (ms, work) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};
