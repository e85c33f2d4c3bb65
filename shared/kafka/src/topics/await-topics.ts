import { pause } from '@makerbook/contracts-primitives';
import { LogUnavailable } from '../failures.js';
import type { Log, Logger, TopicSpec } from '../log.js';

const RETRY_PAUSE_MS = 500;

/** Tells whether the log's topics are as the service expects them. */
export interface VerifiedTopics {
  areVerified(): boolean;
  /** Settles after the first try: rejects if the topics differ, but not if the log is unavailable. */
  readonly firstTry: Promise<void>;
  stop(): void;
}

/**
 * Asks for the topics until the log answers. Meanwhile the service can serve what needs no log.
 * @param onFatal called if the topics turn out to differ after the first try
 */
export function awaitTopics(
  log: Pick<Log, 'verifyTopics'>,
  { specs, logger, onFatal }: { specs: readonly TopicSpec[]; logger: Logger; onFatal: (error: Error) => void },
): VerifiedTopics {
  const stopping = new AbortController();
  const { signal } = stopping;
  let areVerified = false;

  async function ask(): Promise<void> {
    try {
      await log.verifyTopics(specs);
      areVerified = true;
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      logger.warn({ reason: error.message }, 'the log is down: its topics are verified when it is back');
    }
  }

  async function keepAsking(): Promise<void> {
    for (; !areVerified && !signal.aborted; await pause(RETRY_PAUSE_MS, signal)) await ask();
  }

  const firstTry = ask();
  firstTry.then(keepAsking).catch((error: Error) => signal.aborted || onFatal(error));
  return { areVerified: () => areVerified, firstTry, stop: () => stopping.abort() };
}
