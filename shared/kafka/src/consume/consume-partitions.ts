import type { Cluster } from '../cluster/cluster.js';
import { FatalError } from '../failures.js';
import type { ConsumeOptions, ConsumerHealth, Logger, PartitionConsumer } from '../log.js';
import { commitOffsets } from './commit-offsets.js';
import { Fetcher } from './fetch-partitions.js';
import { OwnedPartition } from './own-partition.js';
import type { Park } from './park-records.js';

const BATCH_RECORDS_MAX = 1_000;
const COMMIT_INTERVAL_MS = 5_000;
/** A handler that has not ended by then is told that the partition is lost. */
const REVOKE_MS_MAX = 7_500;

export interface ConsumerParts {
  readonly fetching: Cluster;
  readonly offsets: Cluster;
  readonly logger: Logger;
  readonly park: Park;
}

/**
 * The consumer loop. The caller says which partitions are this process's; the handler's store holds where each goes on; what
 * is handed over starts exactly there and has no gaps. Each partition is handled on its own.
 *
 * It never stays alive doing nothing: lost connections are renewed for ever, and whatever cannot be gone on with ends in
 * `onFatal`.
 */
export class ConsumerLoop<T> implements PartitionConsumer {
  readonly #options: ConsumeOptions<T>;
  readonly #parts: ConsumerParts;
  readonly #fetcher: Fetcher;
  readonly #committing: NodeJS.Timeout;
  readonly #owned = new Map<number, OwnedPartition<T>>();
  /** By partition, when what was begun last has been begun, or what was revoked last has ended. */
  readonly #underWay = new Map<number, Promise<unknown>>();
  #begunAtMs = Number.NEGATIVE_INFINITY;
  #state: ConsumerHealth['state'] = 'running';

  constructor(parts: ConsumerParts, options: ConsumeOptions<T>) {
    const { topic } = options;
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
    this.#committing = setInterval(() => void this.#commit(), COMMIT_INTERVAL_MS);
  }

  readonly assign = (partition: number): void => {
    if (this.#state !== 'running' || this.#owned.has(partition)) {
      return;
    }
    const owned = new OwnedPartition(partition, this.#options, this.#parts);
    this.#owned.set(partition, owned);
    const begun = this.#begin(owned, this.#underWay.get(partition)).catch((error: Error) => this.#fail(error));
    this.#underWay.set(partition, begun);
  };

  readonly revoke = async (partition: number, isLost: boolean): Promise<void> => {
    const owned = this.#owned.get(partition);
    if (owned !== undefined) {
      this.#owned.delete(partition);
      owned.revoke(isLost);
      const late = setTimeout(() => owned.revoke(true), REVOKE_MS_MAX);
      const ended = Promise.all([this.#underWay.get(partition), this.#fetcher.stop(partition)]);
      this.#underWay.set(
        partition,
        ended.finally(() => clearTimeout(late)),
      );
    }
    await this.#underWay.get(partition);
  };

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
      lastPollAtMs:
        this.positions().size === 0 ? performance.now() : Math.max(this.#begunAtMs, this.#fetcher.lastPollAtMs()),
      retrying: this.#mapOwned(({ retrying }) => retrying),
    };
  };

  readonly stop = async (): Promise<void> => {
    clearInterval(this.#committing);
    if (this.#state === 'running') {
      this.#state = 'stopped';
    }
    await Promise.all([...this.#owned.keys()].map((partition) => this.revoke(partition, false)));
    await this.#fetcher.close();
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

  /** @param ended a handler that outlived its revocation must be done with the partition before it is begun anew */
  async #begin(owned: OwnedPartition<T>, ended: Promise<unknown> | undefined): Promise<void> {
    await ended;
    await owned.seek();
    if (owned.position !== undefined && !owned.isRevoked && this.#state === 'running') {
      this.#begunAtMs = performance.now();
      this.#fetcher.start(owned.partition, owned.position);
    }
  }

  async #commit(): Promise<void> {
    const { groupId, topic } = this.#options;
    const positions = this.positions();
    if (groupId === undefined || positions.size === 0) {
      return;
    }
    await commitOffsets(this.#parts.offsets, groupId, topic, positions).catch((error: Error) => {
      this.#parts.logger.debug({ groupId, error: error.message }, 'the offsets for the lag were not committed');
    });
  }

  #fail(error: Error): void {
    if (this.#state !== 'running') {
      return;
    }
    this.#state = 'failed';
    const { topic, onFatal } = this.#options;
    const { message, stack } = error;
    this.#parts.logger.error({ topic, error: message, stack }, 'the consumer loop has stopped for good');
    void this.stop();
    onFatal(error);
  }
}
