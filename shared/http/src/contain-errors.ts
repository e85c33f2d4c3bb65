import { AsyncLocalStorage } from 'node:async_hooks';

type Take = (error: unknown) => void;

const takers = new AsyncLocalStorage<Take>();

/**
 * Does the work of one request. An error that nothing catches goes to `take`: of the work itself, and of all that it
 * begins, in timers, listeners and promises, where the process has called `onStrayErrors`.
 */
export function containErrors(work: () => void, take: Take): void {
  takers.run(take, () => {
    try {
      work();
    } catch (error) {
      take(error);
    }
  });
}

/** Keeps an error that nothing caught from ending the process where it came from a request. `die` takes all others. */
export function onStrayErrors(die: Take): void {
  const take: Take = (error) => (takers.getStore() ?? die)(error);
  process.on('uncaughtException', take);
  process.on('unhandledRejection', take);
}
