import { setTimeout as delay } from 'node:timers/promises';
import { type Exit, type Part, PartError } from '@makerbook/parts';

const FIRST_PAUSE_MS = 500;
const PAUSE_MS_MAX = 15_000;
/** A process that ran this long starts again after the shortest pause. */
const STEADY_MS = 60_000;

export type Supervised<P extends Part = Part> = {
  readonly name: string;
  /** The process that runs now, or ran last. */
  readonly current: () => P;
  /** How often the process has ended by itself. */
  readonly endings: () => number;
  /** Stops the process for good. */
  stop(): Promise<void>;
};

export type Supervision = {
  /** Takes a line for the terminal. */
  readonly report: (line: string) => void;
  /** Called after each start, including the first. */
  readonly onStart: () => void;
};

/**
 * Starts a process, and starts it again whenever it ends by itself, after a pause that doubles.
 * @throws what `start` throws at the first start; later failures are reported and retried
 */
export async function supervise<P extends Part>(
  name: string,
  start: () => Promise<P>,
  { report, onStart }: Supervision,
): Promise<Supervised<P>> {
  let current = await start();
  let endings = 0;
  const stopping = new AbortController();
  onStart();
  const watching = (async () => {
    let pauseMs = FIRST_PAUSE_MS;
    const untilEnded = async () => {
      const startedAtMs = performance.now();
      const exit = await current.exited;
      if (performance.now() - startedAtMs > STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      return describe(exit);
    };
    let reason = await untilEnded();
    while (!stopping.signal.aborted) {
      endings += 1;
      report(`${name} ${reason}: starting it again in ${pauseMs / 1000} s (${current.logFile})`);
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
      if (stopping.signal.aborted) return;
      try {
        current = await start();
      } catch (error) {
        reason = `does not start (${error instanceof PartError ? error.message : String(error)})`;
        continue;
      }
      onStart();
      report(`${name} was started again`);
      if (stopping.signal.aborted) await current.stop();
      reason = await untilEnded();
    }
  })();
  return {
    name,
    current: () => current,
    endings: () => endings,
    async stop() {
      stopping.abort();
      await current.stop();
      await watching;
    },
  };
}

function describe({ code, signal }: Exit): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}
