import { offsetCommitV8 } from '@platformatic/kafka';
import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { FatalError } from '../failures.js';
import type { ConsumeOptions, ConsumerHealth, Logger, PartitionConsumer } from '../log.js';
import { Fetcher } from './fetch-partitions.js';
import { OwnedPartition } from './own-partition.js';
import type { Park } from './park-records.js';

const BATCH_RECORDS_MAX = 1_000;
const COMMIT_INTERVAL_MS = 5_000;
const POLL_MS_MAX = 500;
/** A handler that has not ended by then is told that the partition is lost. */
const REVOKE_MS_MAX = 7_500;

export interface ConsumerParts {
  readonly fetching: Cluster;
  readonly offsets: Cluster;
  readonly logger: Logger;
  readonly park: Park;
}

/**
 * The consumer loop. The caller says which partitions this process owns. The handler's store holds the position of
 * each. The loop hands over the records from exactly there, without gaps, each partition independently.
 *
 * It never stays alive doing nothing: it renews lost connections for ever, and calls `onFatal` for whatever it cannot
 * repair.
 */
export class ConsumerLoop<T> implements PartitionConsumer {
  readonly #options: ConsumeOptions<T>;
  readonly #parts: ConsumerParts;
  readonly #fetcher: Fetcher;
  readonly #committing: NodeJS.Timeout;
  readonly #owned = new Map<number, OwnedPartition<T>>();
  /** Keyed by partition. Settles when the last assignment has started or the last revocation has ended. */
  readonly #underWay = new Map<number, Promise<unknown>>();
  #state: ConsumerHealth['state'] = 'running';

  constructor(parts: ConsumerParts, options: ConsumeOptions<T>) {
    const { topic } = options;
    this.#options = options;
    this.#parts = parts;
    this.#fetcher = new Fetcher({
      cluster: parts.fetching,
      topic,
      logger: parts.logger,
      headerEncoding: 'utf8',
      pollMsMax: POLL_MS_MAX,
      recordsMax: options.batchRecordsMax ?? BATCH_RECORDS_MAX,
      handle: async (partition, range) => this.#owned.get(partition)?.handle(range),
      onOutOfRange: async (partition, offset) => {
        throw new FatalError(
          `the store's position is offset ${offset} of ${topic}/${partition}, which the log does not hold: ` +
            'the log was truncated or recreated, or the store belongs to another log',
        );
      },
      onFatal: (error) => {
        if (this.#state !== 'running') return;
        this.#state = 'failed';
        void this.stop();
        options.onFatal(error);
      },
    });
    this.#committing = setInterval(() => void this.#commit(), COMMIT_INTERVAL_MS);
  }

  readonly assign = (partition: number): void => {
    if (this.#state !== 'running' || this.#owned.has(partition)) return;
    const owned = new OwnedPartition(partition, this.#options, this.#parts);
    this.#owned.set(partition, owned);
    const begun = this.#begin(owned, this.#underWay.get(partition)).catch((error: Error) => this.#fetcher.fail(error));
    this.#underWay.set(partition, begun);
  };

  readonly revoke = async (partition: number, isLost: boolean): Promise<void> => {
    const owned = this.#owned.get(partition);
    if (owned !== undefined) {
      this.#owned.delete(partition);
      owned.revoke(isLost);
      const late = setTimeout(() => owned.revoke(true), REVOKE_MS_MAX);
      const ended = Promise.all([this.#underWay.get(partition), this.#fetcher.stop(partition)]);
      const cleared = ended.finally(() => clearTimeout(late));
      this.#underWay.set(partition, cleared);
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
    const isReading = this.positions().size > 0;
    return {
      state: this.#state,
      assigned: [...this.#owned.keys()].sort((one, other) => one - other),
      lastPollAtMs: isReading ? this.#fetcher.lastPollAtMs() : performance.now(),
      lastTurnAtMs: this.#fetcher.lastTurnAtMs(),
      retrying: this.#mapOwned(({ retrying }) => retrying),
    };
  };

  readonly stop = async (): Promise<void> => {
    clearInterval(this.#committing);
    if (this.#state === 'running') this.#state = 'stopped';
    await Promise.all([...this.#owned.keys()].map((partition) => this.revoke(partition, false)));
    await this.#fetcher.close();
  };

  /** Picks a value of each owned partition, if it has one. Keyed by partition. */
  #mapOwned<V>(pick: (owned: OwnedPartition<T>) => V | undefined): ReadonlyMap<number, V> {
    const picked = Array.from(this.#owned.values(), (owned) => [owned.partition, pick(owned)] as const);
    return new Map(picked.flatMap(([partition, value]) => (value === undefined ? [] : [[partition, value]])));
  }

  /** @param ended the start waits for it, because a handler may outlive its revocation */
  async #begin(owned: OwnedPartition<T>, ended: Promise<unknown> | undefined): Promise<void> {
    await ended;
    await owned.seek();
    if (owned.position === undefined || owned.isRevoked || this.#state !== 'running') return;
    this.#fetcher.start(owned.partition, owned.position);
  }

  /** Commits the positions under the group's name, for tools that show its lag. Nothing here ever reads them. */
  async #commit(): Promise<void> {
    const { groupId, topic } = this.#options;
    const { offsets, logger } = this.#parts;
    const partitions = Array.from(this.positions(), ([partitionIndex, committedOffset]) => {
      return { partitionIndex, committedOffset, committedLeaderEpoch: -1 };
    });
    if (groupId === undefined || partitions.length === 0) return;
    const deadline = deadlineIn(COMMIT_INTERVAL_MS);
    try {
      const coordinator = await offsets.coordinatorOf('GROUP', groupId, deadline);
      const topics = [{ name: topic, partitions }];
      // A group without members has no generation and no member ids.
      await coordinator.call(offsetCommitV8.api, deadline, groupId, -1, '', null, topics);
    } catch (error) {
      offsets.forgetCoordinator(groupId);
      logger.debug({ groupId, error: (error as Error).message }, 'the offsets for the lag were not committed');
    }
  }
}
