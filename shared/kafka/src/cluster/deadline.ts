import { pause } from '@makerbook/contracts-primitives';

export const RETRY_PAUSE_MS = 50;
/** The least time for an attempt, if its deadline allows it. */
export const ATTEMPT_MS_MIN = 500;

/** A point in time by which something has to be answered, by the monotonic clock. */
export interface Deadline {
  leftMs(): number;
  passed(): boolean;
  sooner(other: Deadline): Deadline;
  /** Half of the time left: an attempt at a broker that hangs leaves time for another one. */
  half(): Deadline;
}

export function deadlineIn(ms: number): Deadline {
  const at = performance.now() + ms;
  const deadline: Deadline = {
    leftMs: () => Math.max(0, at - performance.now()),
    passed: () => performance.now() >= at,
    sooner: (other) => (other.leftMs() < deadline.leftMs() ? other : deadline),
    half: () => deadline.sooner(deadlineIn(Math.max(ATTEMPT_MS_MIN, deadline.leftMs() / 2))),
  };
  return deadline;
}

/** The promise's outcome, or `late()` as the error once the deadline has passed. */
export function within<T>(deadline: Deadline, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // A timer may fire a millisecond early, and a caller then finds that the deadline has not passed.
    const timer = setTimeout(() => reject(late()), deadline.leftMs() + 1);
    const clear = () => clearTimeout(timer);
    promise.then(clear, clear);
    promise.then(resolve, reject);
  });
}

/** Repeats a failed attempt after a pause, as long as its error `isWorthIt` and the deadline allows it. */
export async function retryUntil<T>(
  deadline: Deadline,
  attempt: () => Promise<T>,
  isWorthIt: (error: unknown) => boolean = () => true,
  pauseMs = RETRY_PAUSE_MS,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isWorthIt(error) || deadline.leftMs() < pauseMs) throw error;
    }
    await pause(pauseMs);
  }
}
