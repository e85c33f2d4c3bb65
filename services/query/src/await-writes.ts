import type { Hex } from '@makerbook/contracts-primitives';
import { type After, startTimer } from '@makerbook/http';
import type { ListState } from './store/read-lists.js';

export interface WriteWatch {
  /**
   * Waits until the writes that `begun` names are settled, or until the longest wait is over. Returns the newest state,
   * with the writes of `begun` that are still unsettled. Undefined if Postgres went down. Does not wait for what the
   * maker writes meanwhile.
   */
  awaitSettled(maker: Hex, begun: ListState): Promise<ListState | undefined>;
}

export interface WriteWatchOptions {
  /** Resolves to undefined while Postgres is down. */
  readonly readState: (maker: Hex) => Promise<ListState | undefined>;
  readonly waitMsMax: number;
  /** Runs the work after a delay, unless it is cancelled. Default: a timer of this process. */
  readonly after?: After;
}

const PAUSE_MS = 10;
const PAUSE_MS_MAX = 100;

/** Lets requests wait for writes. */
export function createWriteWatch({ readState, waitMsMax, after = startTimer }: WriteWatchOptions): WriteWatch {
  return {
    async awaitSettled(maker, begun) {
      if (begun.unsettled.length === 0) return begun;
      let newest: ListState | undefined = begun;
      let isOver = false;
      const poll = async () => {
        for (let pauseMs = PAUSE_MS; newest !== undefined && newest.unsettled.length > 0; ) {
          await new Promise<void>((done) => after(pauseMs, done));
          if (isOver) return;
          const state = await readState(maker);
          const left = new Set(state?.unsettled);
          newest = state && { ...state, unsettled: begun.unsettled.filter((key) => left.has(key)) };
          pauseMs = Math.min(1.5 * pauseMs, PAUSE_MS_MAX);
        }
      };
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const callOff = after(waitMsMax, resolve);
      await Promise.race([poll(), late]).finally(callOff);
      isOver = true;
      return newest;
    },
  };
}
