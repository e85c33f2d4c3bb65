import { type Log, LogUnavailable } from '@makerbook/kafka';
import { type After, type PlacementStore, PostgresUnavailable, type ReadModel } from '@makerbook/postgres';
import type { Logger } from '@makerbook/telemetry';

export interface TrustKeeper {
  /** Whether Postgres was trusted when it was asked last. */
  isTrusted(): boolean;
  /** A statement has found that Postgres is not trusted. */
  noteLoss(): void;
  stop(): void;
}

export interface TrustKeeperParts {
  readonly store: Pick<PlacementStore, 'beginTrust' | 'endTrust'>;
  readonly log: Pick<Log, 'endOffsets'>;
  readonly rows: Pick<ReadModel, 'projectedPositions'>;
  readonly makerEventsTopic: string;
  /** The longest time from a decision of Postgres to the end of the append that follows. */
  readonly appendMsMax: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly now: () => number;
  readonly after: After;
}

const RETRY_MS = 200;
const POLL_MS = 50;

/**
 * Postgres forgets in a crash, a failover or a restore what was in flight, and rows that were committed last. It is trusted
 * again once every append that was in flight has ended and the rows have reached the end that the log had after that: all
 * that was forgotten is in the rows by then, or was never stored. All processes share the result.
 */
export function keepTrust(parts: TrustKeeperParts): TrustKeeper {
  const { store, log, makerEventsTopic, appendMsMax, logger, now, after } = parts;
  const wait = (ms: number) => new Promise<void>((done) => after(ms, done));
  let isTrusted = false;
  let isStopped = false;
  let isWorking = false;

  async function establish(): Promise<void> {
    const trust = await store.beginTrust(now());
    if (trust.isTrusted) return;
    const { sinceMs } = trust;
    if (sinceMs > 0)
      logger.warn({ sinceMs }, 'Postgres may have lost rows: no order is placed until the log is folded');
    // In full, for `sinceMs` may be of another process's clock.
    if (sinceMs > 0) await wait(appendMsMax);
    const ends = await log.endOffsets(makerEventsTopic);
    while (!isStopped && !(await hasReached(parts.rows, ends))) await wait(POLL_MS);
    if (isStopped) return;
    await store.endTrust(sinceMs);
    logger.info({}, 'the rows have reached the end of the log: orders are placed by them');
  }

  async function work(): Promise<void> {
    while (!isStopped) {
      try {
        await establish();
        isTrusted = !isStopped;
        return;
      } catch (error) {
        if (!(error instanceof PostgresUnavailable || error instanceof LogUnavailable)) throw error;
        await wait(RETRY_MS);
      }
    }
  }

  function start(): void {
    isTrusted = false;
    if (isWorking) return;
    isWorking = true;
    void work()
      .catch((error: unknown) => logger.warn({ reason: String(error) }, 'trust in Postgres was not established'))
      .finally(() => {
        isWorking = false;
      });
  }

  start();
  return {
    isTrusted: () => isTrusted,
    noteLoss: start,
    stop: () => {
      isStopped = true;
    },
  };
}

async function hasReached(rows: TrustKeeperParts['rows'], ends: readonly bigint[]): Promise<boolean> {
  const positions = await rows.projectedPositions();
  return ends.every((end, partition) => (positions.get(partition) ?? 0n) >= end);
}
