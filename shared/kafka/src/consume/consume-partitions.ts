import type { Cluster } from '../cluster/cluster.js';
import { settledWithin } from '../cluster/deadline.js';
import { FatalError } from '../failures.js';
import type { ConsumeOptions, ConsumerHealth, Logger, PartitionConsumer } from '../log.js';
import { Fetcher, type RecordRange } from './fetch-partitions.js';
import { Backoff, BatchHandling, type OwnedPartition } from './handle-batch.js';
import { GroupMember, REBALANCE_TIMEOUT_MS } from './join-group.js';
import type { Parking } from './park-records.js';

const BATCH_RECORDS_MAX = 1_000;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const HEARTBEAT_INTERVAL_MS = 1_000;
const COMMIT_INTERVAL_MS = 5_000;

export interface ConsumerParts {
  readonly fetching: Cluster;
  readonly group: Cluster;
  readonly logger: Logger;
  readonly now: () => number;
  readonly parking: Parking;
}

/**
 * The consumer loop. The group shares out the partitions; the handler's store holds where each goes on; what is handed
 * over starts exactly there and has no gaps. Each partition is handled on its own.
 *
 * It never stays alive doing nothing: lost connections and lost memberships are renewed for ever, and whatever cannot be
 * gone on with ends in `onFatal`.
 */
export class GroupConsumer<T> implements PartitionConsumer {
  readonly #options: ConsumeOptions<T>;
  readonly #parts: ConsumerParts;
  readonly #fetcher: Fetcher;
  readonly #member: GroupMember;
  readonly #committing: NodeJS.Timeout;
  readonly #owned = new Map<number, OwnedPartition>();
  /** Partitions that were revoked while their handler was at work. */
  readonly #finishing = new Map<number, Promise<void>>();
  /** Partitions that wait: their position is not known yet, or their batch is being retried; with the reason. */
  readonly #retrying = new Map<number, string>();
  readonly #committed = new Map<number, bigint>();
  #state: ConsumerHealth['state'] = 'joining';
  #stopping: Promise<void> | undefined;

  constructor(parts: ConsumerParts, options: ConsumeOptions<T>) {
    const { topic, groupId } = options;
    const { logger, now } = parts;
    this.#options = options;
    this.#parts = parts;
    this.#fetcher = new Fetcher({
      cluster: parts.fetching,
      topic,
      logger,
      now,
      headerEncoding: 'utf8',
      recordsMax: options.batchRecordsMax ?? BATCH_RECORDS_MAX,
      bytesMax: BATCH_BYTES_MAX,
      handle: (partition, range) => this.#handle(partition, range),
      onOutOfRange: async (partition, offset) => {
        throw new FatalError(
          `the store's position is offset ${offset} of ${topic}/${partition}, which the log does not hold: ` +
            'the log was truncated or recreated, or the store belongs to another log',
        );
      },
      onFatal: (error) => this.#fail(error),
    });
    this.#member = new GroupMember({
      cluster: parts.group,
      groupId,
      topic,
      logger,
      now,
      heartbeatIntervalMs: options.heartbeatIntervalMs ?? HEARTBEAT_INTERVAL_MS,
      onAssigned: (partitions) => this.#take(partitions),
      onRevoked: (isLost) => this.#giveBack(isLost),
    });
    this.#committing = setInterval(() => void this.#commit(), options.commitIntervalMs ?? COMMIT_INTERVAL_MS);
  }

  readonly positions = (): ReadonlyMap<number, bigint> => {
    const known = [...this.#owned.values()].flatMap(({ partition, position }): [number, bigint][] =>
      position === undefined ? [] : [[partition, position]],
    );
    return new Map(known);
  };

  readonly lag = (): ReadonlyMap<number, bigint> => {
    const lags = [...this.positions()].flatMap(([partition, position]): [number, bigint][] => {
      const end = this.#fetcher.highWatermark(partition);
      return end === undefined ? [] : [[partition, end > position ? end - position : 0n]];
    });
    return new Map(lags);
  };

  readonly health = (): ConsumerHealth => {
    return {
      state: this.#state,
      assigned: [...this.#owned.keys()].sort((one, other) => one - other),
      lastPollAtMs: this.#fetcher.lastPollAtMs(),
      lastHeartbeatAtMs: this.#member.lastHeartbeatAtMs(),
      retrying: new Map(this.#retrying),
    };
  };

  readonly stop = (): Promise<void> => {
    this.#stopping ??= (async () => {
      clearInterval(this.#committing);
      if (this.#state !== 'failed') {
        this.#state = 'stopped';
      }
      await this.#member.leave();
      await this.#fetcher.close();
    })();
    return this.#stopping;
  };

  async #take(partitions: readonly number[]): Promise<void> {
    const taken = partitions.map((partition): OwnedPartition => {
      return { partition, position: undefined, revoked: new AbortController(), isStale: false };
    });
    for (const owned of taken) {
      this.#owned.set(owned.partition, owned);
      this.#retrying.set(owned.partition, 'its position is not known yet');
    }
    this.#state = 'running';
    try {
      await Promise.all(taken.map((owned) => this.#begin(owned)));
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** Fetches a partition from where the store says; however long that takes, the others go on. */
  async #begin(owned: OwnedPartition): Promise<void> {
    const { partition, revoked } = owned;
    // A handler that outlived its revocation must be done with the partition before it is begun anew.
    await this.#finishing.get(partition);
    await this.#seek(owned);
    if (owned.position !== undefined && !revoked.signal.aborted && this.#state === 'running') {
      this.#fetcher.start(partition, owned.position);
    }
  }

  /** Asks the store where to go on, until it answers or the partition is revoked. */
  async #seek(owned: OwnedPartition): Promise<void> {
    const { topic, positionOf } = this.#options;
    const { partition, revoked } = owned;
    const backoff = new Backoff(this.#options);
    while (!revoked.signal.aborted) {
      try {
        const position = await positionOf(partition);
        if (position < 0n) {
          throw new FatalError(`the store's position of ${topic}/${partition} is ${position}`);
        }
        owned.position = position;
        this.#retrying.delete(partition);
        return;
      } catch (error) {
        if (error instanceof FatalError) {
          throw error;
        }
        const reason = (error as Error).message;
        this.#retrying.set(partition, reason);
        this.#parts.logger.warn({ topic, partition, reason }, 'the store did not give its position, trying again');
      }
      await backoff.wait(revoked.signal);
    }
  }

  async #giveBack(isLost: boolean): Promise<void> {
    const given = [...this.#owned.values()];
    for (const owned of given) {
      owned.isStale = isLost;
      owned.revoked.abort();
      this.#retrying.delete(owned.partition);
      this.#finish(owned.partition);
    }
    const finished = Promise.all(given.map(({ partition }) => this.#finishing.get(partition)));
    await settledWithin(REBALANCE_TIMEOUT_MS / 2, finished);
    if (!isLost) {
      await this.#commit();
    }
    for (const owned of given) {
      owned.isStale = true;
      this.#owned.delete(owned.partition);
      this.#committed.delete(owned.partition);
    }
    if (this.#state === 'running') {
      this.#state = 'joining';
    }
    try {
      await this.#options.onRevoked?.(given.map(({ partition }) => partition));
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #finish(partition: number): void {
    const finished = this.#fetcher.stop(partition).finally(() => {
      if (this.#finishing.get(partition) === finished) {
        this.#finishing.delete(partition);
      }
    });
    this.#finishing.set(partition, finished);
  }

  async #handle(partition: number, range: RecordRange): Promise<void> {
    const owned = this.#owned.get(partition);
    if (owned === undefined || owned.revoked.signal.aborted) {
      return;
    }
    if (owned.position !== range.fromOffset) {
      const { topic } = this.#options;
      throw new FatalError(`${topic}/${partition} was read from ${range.fromOffset}, not from ${owned.position}`);
    }
    const { logger, parking } = this.#parts;
    const parts = { logger, parking, retrying: this.#retrying };
    if (await new BatchHandling(owned, range, this.#options, parts).run()) {
      owned.position = range.nextOffset;
    }
  }

  async #commit(): Promise<void> {
    const moved = [...this.positions()].filter(([partition, position]) => this.#committed.get(partition) !== position);
    try {
      await this.#member.commit(new Map(moved));
      for (const [partition, position] of moved) {
        this.#committed.set(partition, position);
      }
    } catch (error) {
      const { groupId } = this.#options;
      this.#parts.logger.debug({ groupId, error: (error as Error).message }, 'the group offsets were not committed');
    }
  }

  #fail(error: Error): void {
    if (this.#state === 'failed' || this.#state === 'stopped') {
      return;
    }
    this.#state = 'failed';
    const { topic, groupId, onFatal } = this.#options;
    const { message, stack } = error;
    this.#parts.logger.error({ topic, groupId, error: message, stack }, 'the consumer loop has stopped for good');
    void this.stop();
    onFatal(error);
  }
}
