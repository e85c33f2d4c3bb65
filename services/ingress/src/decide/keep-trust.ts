import { Unavailable } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import type { Logger } from '@makerbook/telemetry';
import type { Projection } from '../acknowledge/follow-projection.js';
import type { IngressSettings } from '../env.js';
import { appendMsMaxOf, makerEventsTopicOf } from '../limits.js';
import type { Store } from '../store/store.js';

export interface TrustParts {
  readonly settings: IngressSettings;
  readonly store: Pick<Store, 'beginTrust' | 'endTrust'>;
  readonly projection: Pick<Projection, 'havePassed'>;
  readonly logger: Logger;
  readonly pause: (ms: number) => Promise<void>;
  readonly log: Pick<Log, 'endOffsets'>;
}

const RETRY_MS = 200;
const POLL_MS = 50;

export type TrustKeeper = ReturnType<typeof keepTrust>;

/**
 * A crash, a failover or a restore makes Postgres forget what was in flight and the last committed rows. Postgres is
 * trusted again once every append in flight has ended and the rows have reached the end that the log had after that. By
 * then everything that was forgotten is in the rows, or was never stored. All processes share the result.
 */
export function keepTrust({ settings, store, log, projection, logger, pause }: TrustParts) {
  let isTrusted = false;
  let isStopped = false;
  let isWorking = false;

  async function establish(): Promise<void> {
    const trust = await store.beginTrust();
    if (trust.isTrusted) return;
    const { sinceMs } = trust;
    if (sinceMs > 0) {
      logger.warn({ sinceMs }, 'Postgres may have lost rows: no order is placed until the log is folded');
      // Waits the full time, because another process may have begun.
      await pause(appendMsMaxOf(settings));
    }
    const ends = await log.endOffsets(makerEventsTopicOf(settings));
    const last = ends.map((end, partition) => ({ partition, offset: end - 1n }));
    while (!(await projection.havePassed(last, 0))) await pause(POLL_MS);
    await store.endTrust(sinceMs);
    logger.info({}, 'the rows have reached the end of the log: orders are placed again');
  }

  async function work(): Promise<void> {
    while (!isTrusted && !isStopped) {
      try {
        await establish();
        isTrusted = true;
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  function start(): void {
    isTrusted = false;
    if (isWorking) return;
    isWorking = true;
    void work()
      .catch((error: unknown) => logger.warn({ reason: String(error) }, 'trust in Postgres could not be established'))
      .finally(() => {
        isWorking = false;
      });
  }

  start();
  return {
    /** True if Postgres was trusted when it was last asked. */
    isTrusted: (): boolean => isTrusted,
    /** Call it when a statement finds that Postgres is not trusted. */
    noteLoss: start,
    stop(): void {
      isStopped = true;
    },
  };
}
