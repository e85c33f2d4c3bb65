import { AsyncLocalStorage } from 'node:async_hooks';

type Take = (error: unknown) => void;

const takers = new AsyncLocalStorage<Take>();

/**
 * Does the work of one request. An uncaught error of the work goes to `take`. If the process has called
 * `onStrayErrors`, so does an uncaught error of anything that the work begins, in timers, listeners and promises.
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

/** Stops uncaught errors of requests from ending the process. `die` takes all other errors. */
export function onStrayErrors(die: Take): void {
  const take: Take = (error) => (takers.getStore() ?? die)(error);
  process.on('uncaughtException', take);
  process.on('unhandledRejection', take);
}
