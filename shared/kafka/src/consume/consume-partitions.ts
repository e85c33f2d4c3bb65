import type { Cluster } from '../cluster/cluster.js';
import { settledWithin } from '../cluster/deadline.js';
import { FatalError } from '../failures.js';
import type { ConsumeOptions, ConsumerHealth, Logger, PartitionConsumer } from '../log.js';
import { Fetcher } from './fetch-partitions.js';
import { GroupMember, REBALANCE_TIMEOUT_MS } from './join-group.js';
import { OwnedPartition } from './own-partition.js';
import type { Parking } from './park-records.js';

const BATCH_RECORDS_MAX = 1_000;
const COMMIT_INTERVAL_MS = 5_000;

export interface ConsumerParts {
  readonly fetching: Cluster;
  readonly group: Cluster;
  readonly logger: Logger;
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
  readonly #owned = new Map<number, OwnedPartition<T>>();
  /** When the handlers of revoked partitions are done, by partition. */
  readonly #finishing = new Map<number, Promise<unknown>>();
  readonly #beginning = new Map<number, Promise<void>>();
  #state: ConsumerHealth['state'] = 'joining';
  #stopping: Promise<void> | undefined;

  constructor(parts: ConsumerParts, options: ConsumeOptions<T>) {
    const { topic, groupId } = options;
    const { logger } = parts;
    this.#options = options;
    this.#parts = parts;
    this.#fetcher = new Fetcher({
      cluster: parts.fetching,
      topic,
      logger,
      headerEncoding: 'utf8',
      recordsMax: options.batchRecordsMax ?? BATCH_RECORDS_MAX,
      handle: async (partition, range) => this.#owned.get(partition)?.handle(range),
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
      onAssigned: (partitions) => this.#take(partitions),
      onRevoked: (isLost) => this.#giveBack(isLost),
    });
    this.#committing = setInterval(() => void this.#commit(), COMMIT_INTERVAL_MS);
  }

  readonly positions = (): ReadonlyMap<number, bigint> => this.#mapOwned(({ position }) => position);

  readonly lag = (): ReadonlyMap<number, bigint> =>
    this.#mapOwned(({ partition, position }) => {
      const end = this.#fetcher.highWatermark(partition);
      return end === undefined || position === undefined ? undefined : end > position ? end - position : 0n;
    });

  readonly health = (): ConsumerHealth => {
    return {
      state: this.#state,
      assigned: [...this.#owned.keys()].sort((one, other) => one - other),
      lastPollAtMs: this.#fetcher.lastPollAtMs(),
      lastHeartbeatAtMs: this.#member.lastHeartbeatAtMs(),
      retrying: this.#mapOwned(({ retrying }) => retrying),
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

  /** A value of each partition owned, where there is one. */
  #mapOwned<V>(pick: (owned: OwnedPartition<T>) => V | undefined): ReadonlyMap<number, V> {
    const values = new Map<number, V>();
    for (const owned of this.#owned.values()) {
      const value = pick(owned);
      if (value !== undefined) {
        values.set(owned.partition, value);
      }
    }
    return values;
  }

  #take(partitions: readonly number[]): void {
    this.#state = 'running';
    const parts = { ...this.#parts, isConfirmed: () => this.#member.isConfirmed() };
    for (const partition of partitions) {
      const owned = new OwnedPartition(partition, this.#options, parts);
      this.#owned.set(partition, owned);
      this.#beginning.set(
        partition,
        this.#begin(owned).catch((error: Error) => this.#fail(error)),
      );
    }
  }

  async #begin(owned: OwnedPartition<T>): Promise<void> {
    // A handler that outlived its revocation must be done with the partition before it is begun anew.
    await this.#finishing.get(owned.partition);
    await owned.seek();
    if (owned.position !== undefined && !owned.isRevoked && this.#state === 'running') {
      this.#fetcher.start(owned.partition, owned.position);
    }
  }

  async #giveBack(isLost: boolean): Promise<void> {
    const given = [...this.#owned.values()];
    for (const owned of given) {
      owned.revoke(isLost);
      const { partition } = owned;
      this.#finishing.set(partition, Promise.all([this.#beginning.get(partition), this.#fetcher.stop(partition)]));
    }
    const finished = Promise.all(given.map(({ partition }) => this.#finishing.get(partition)));
    await settledWithin(REBALANCE_TIMEOUT_MS / 2, finished);
    if (!isLost) {
      await this.#commit();
    }
    for (const owned of given) {
      owned.revoke(true);
      this.#owned.delete(owned.partition);
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

  async #commit(): Promise<void> {
    try {
      await this.#member.commit(this.positions());
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
