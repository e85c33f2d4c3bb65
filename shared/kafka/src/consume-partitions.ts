import { FatalError } from './failures.js';
import { openFetching, type Stretch } from './fetch-partitions.js';
import { handleStretch } from './handle-stretch.js';
import { joinGroup } from './join-group.js';
import type { ConsumeOptions, ConsumerHealth, Logger, PartitionConsumer, StoredRecord } from './log.js';
import type { Connections } from './reach-brokers.js';
import { pause, settledWithin } from './wait.js';

const BATCH_RECORDS_MAX = 1_000;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;
const SESSION_TIMEOUT_MS = 8_000;
const HEARTBEAT_INTERVAL_MS = 1_000;
const REBALANCE_TIMEOUT_MS = 15_000;
const COMMIT_INTERVAL_MS = 5_000;

/** A partition that this member owns, from its assignment to its revocation. */
export interface Owned {
  readonly partition: number;
  /** Undefined until the store has told it. */
  position: bigint | undefined;
  /** Given back: what is under way may end, but is not tried again. */
  readonly revoked: AbortController;
  /** Taken away: what is under way must not commit. */
  stale: boolean;
}

/**
 * The consumer loop. The group shares out the partitions; the handler's store says where each goes on; what is handed
 * over starts exactly there and has no gaps. Each partition is handled on its own.
 *
 * It never stays alive doing nothing: lost connections and lost memberships are taken up again for ever, and whatever
 * cannot be gone on with ends in `onFatal`.
 */
export function openConsumer<T>(
  parts: {
    readonly fetching: Connections;
    readonly group: Connections;
    readonly logger: Logger;
    readonly now: () => number;
    readonly park: (record: StoredRecord, reason: string) => Promise<void>;
  },
  options: ConsumeOptions<T>,
): PartitionConsumer {
  const { topic, groupId } = options;
  const { logger } = parts;
  const owned = new Map<number, Owned>();
  const finishing = new Map<number, Promise<void>>();
  const retrying = new Map<number, string>();
  const committed = new Map<number, bigint>();
  let state: ConsumerHealth['state'] = 'joining';
  let stopping: Promise<void> | undefined;

  const fetching = openFetching({
    connections: parts.fetching,
    topic,
    logger,
    now: parts.now,
    headerEncoding: 'utf8',
    recordsMax: options.batchRecordsMax ?? BATCH_RECORDS_MAX,
    bytesMax: options.batchBytesMax ?? BATCH_BYTES_MAX,
    handle,
    onOutOfRange: async (partition, offset) => {
      throw new FatalError(
        `the store stands at offset ${offset} of ${topic}/${partition}, which the log does not hold: ` +
          'the log was truncated or recreated, or the store belongs to another log',
      );
    },
    onFatal: fail,
  });

  const membership = joinGroup({
    connections: parts.group,
    groupId,
    topic,
    logger,
    now: parts.now,
    sessionTimeoutMs: options.sessionTimeoutMs ?? SESSION_TIMEOUT_MS,
    heartbeatIntervalMs: options.heartbeatIntervalMs ?? HEARTBEAT_INTERVAL_MS,
    rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? REBALANCE_TIMEOUT_MS,
    onAssigned: take,
    onRevoked: giveBack,
  });

  const committing = setInterval(() => void commit(), options.commitIntervalMs ?? COMMIT_INTERVAL_MS);

  async function take(partitions: readonly number[]): Promise<void> {
    const taken = partitions.map(
      (partition): Owned => ({
        partition,
        position: undefined,
        revoked: new AbortController(),
        stale: false,
      }),
    );
    for (const one of taken) {
      owned.set(one.partition, one);
    }
    state = 'running';
    try {
      // A handler that outlived its revocation must be done with the partition before it is begun anew.
      await Promise.all(partitions.map((partition) => finishing.get(partition)));
      await Promise.all(taken.map((one) => seek(one)));
    } catch (error) {
      fail(error as Error);
      return;
    }
    for (const one of taken) {
      if (one.position !== undefined && !one.revoked.signal.aborted && state === 'running') {
        fetching.start(one.partition, one.position);
      }
    }
  }

  /** Asks the store where to go on, until it answers or the partition is given back. */
  async function seek(one: Owned): Promise<void> {
    const delayMsMax = options.retryDelayMsMax ?? RETRY_DELAY_MS_MAX;
    for (let delayMs = options.retryDelayMs ?? RETRY_DELAY_MS; !one.revoked.signal.aborted; ) {
      try {
        const position = await options.positionOf(one.partition);
        if (position < 0n) {
          throw new FatalError(`the store told position ${position} for ${topic}/${one.partition}`);
        }
        one.position = position;
        retrying.delete(one.partition);
        return;
      } catch (error) {
        if (error instanceof FatalError) {
          throw error;
        }
        const reason = (error as Error).message;
        retrying.set(one.partition, reason);
        logger.warn({ topic, partition: one.partition, reason }, 'the store did not tell its position, trying again');
      }
      await pause(delayMs, one.revoked.signal);
      delayMs = Math.min(delayMs * 2, delayMsMax);
    }
  }

  async function giveBack(lost: boolean): Promise<void> {
    const given = [...owned.values()];
    for (const one of given) {
      one.stale = lost;
      one.revoked.abort();
      retrying.delete(one.partition);
      const finished = fetching.stop(one.partition);
      finishing.set(one.partition, finished);
      void finished.finally(() => {
        if (finishing.get(one.partition) === finished) {
          finishing.delete(one.partition);
        }
      });
    }
    const allowedMs = (options.rebalanceTimeoutMs ?? REBALANCE_TIMEOUT_MS) / 2;
    await settledWithin(allowedMs, Promise.all(given.map(({ partition }) => finishing.get(partition))));
    if (!lost) {
      await commit();
    }
    for (const one of given) {
      one.stale = true;
      owned.delete(one.partition);
      committed.delete(one.partition);
    }
    if (state === 'running') {
      state = 'joining';
    }
    try {
      await options.onRevoked?.(given.map(({ partition }) => partition));
    } catch (error) {
      fail(error as Error);
    }
  }

  async function handle(partition: number, stretch: Stretch): Promise<void> {
    const one = owned.get(partition);
    if (one === undefined || one.revoked.signal.aborted) {
      return;
    }
    if (one.position !== stretch.fromOffset) {
      throw new FatalError(`${topic}/${partition} was read from ${stretch.fromOffset}, not from ${one.position}`);
    }
    const done = await handleStretch(one, stretch, options, {
      logger,
      park: parts.park,
      retrying: (reason) => (reason === undefined ? retrying.delete(partition) : retrying.set(partition, reason)),
    });
    if (done) {
      one.position = stretch.nextOffset;
    }
  }

  async function commit(): Promise<void> {
    const moved = new Map<number, bigint>();
    for (const { partition, position } of owned.values()) {
      if (position !== undefined && committed.get(partition) !== position) {
        moved.set(partition, position);
      }
    }
    try {
      await membership.commit(moved);
      for (const [partition, position] of moved) {
        committed.set(partition, position);
      }
    } catch (error) {
      logger.debug({ groupId, error: (error as Error).message }, 'the group offsets were not committed');
    }
  }

  function fail(error: Error): void {
    if (state === 'failed' || state === 'stopped') {
      return;
    }
    state = 'failed';
    logger.error(
      { topic, groupId, error: error.message, stack: error.stack },
      'the consumer loop has stopped for good',
    );
    void stop();
    options.onFatal(error);
  }

  function stop(): Promise<void> {
    stopping ??= (async () => {
      clearInterval(committing);
      if (state !== 'failed') {
        state = 'stopped';
      }
      await membership.leave();
      await fetching.close();
    })();
    return stopping;
  }

  return {
    positions: () =>
      new Map(
        [...owned.values()].flatMap(({ partition, position }) =>
          position === undefined ? [] : [[partition, position]],
        ),
      ),
    lag: () =>
      new Map(
        [...owned.values()].flatMap(({ partition, position }): [number, bigint][] => {
          const end = fetching.highWatermark(partition);
          return position === undefined || end === undefined ? [] : [[partition, end > position ? end - position : 0n]];
        }),
      ),
    health: () => ({
      state,
      assigned: [...owned.keys()].sort((one, other) => one - other),
      lastPollAtMs: fetching.lastPollAtMs(),
      lastHeartbeatAtMs: membership.lastHeartbeatAtMs(),
      retrying: new Map(retrying),
    }),
    stop,
  };
}
