import type { Cluster } from '../cluster/cluster.js';
import { pause } from '../cluster/deadline.js';
import { RecordsDeleted } from '../failures.js';
import type { Following, FollowOptions, Logger } from '../log.js';
import { EARLIEST, LATEST, readOffsets } from '../topics/read-offsets.js';
import { Fetcher, type RecordRange } from './fetch-partitions.js';

const RECORDS_MAX = 5_000;
const ASK_TIMEOUT_MS = 5_000;
const RETRY_PAUSE_MS = 200;

export interface FollowerParts {
  readonly cluster: Cluster;
  readonly logger: Logger;
  readonly onStop: () => void;
}

/** Reads every partition of a topic, from its beginning, its end or given offsets, for this process alone. */
export class TopicFollower implements Following {
  readonly #options: FollowOptions;
  readonly #parts: FollowerParts;
  readonly #fetcher: Fetcher;
  readonly #stopping = new AbortController();
  readonly #beginning: Promise<void>;
  #positions: bigint[] = [];
  /** The end offsets at the start, until they are reached. */
  #ends: readonly bigint[] | undefined;
  readonly #caughtUp = Promise.withResolvers<void>();
  readonly caughtUp = this.#caughtUp.promise;

  constructor(parts: FollowerParts, options: FollowOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#fetcher = new Fetcher({
      cluster: parts.cluster,
      topic: options.topic,
      logger: parts.logger,
      headerEncoding: options.headerEncoding ?? 'utf8',
      recordsMax: RECORDS_MAX,
      pauseMs: () => (this.#ends === undefined && this.#positions.length > 0 ? (options.pauseMs ?? 0) : 0),
      handle: (partition, range) => this.#handle(partition, range),
      onOutOfRange: async (partition, offset) => {
        const first = await readOffsets(parts.cluster, options.topic, EARLIEST, ASK_TIMEOUT_MS);
        return this.#nextStored(partition, offset, first[partition] ?? 0n);
      },
      onFatal: (error) => this.#fail(error),
    });
    this.#beginning = this.#begin();
  }

  readonly positions = (): readonly bigint[] => [...this.#positions];

  readonly lastPollAtMs = (): number => this.#fetcher.lastPollAtMs();

  readonly stop = async (): Promise<void> => {
    this.#stopping.abort();
    await this.#fetcher.close();
    await this.#beginning;
    this.#parts.onStop();
  };

  async #begin(): Promise<void> {
    const { topic } = this.#options;
    const { cluster, logger } = this.#parts;
    const { signal } = this.#stopping;
    for (let tries = 0; !signal.aborted; tries += 1) {
      try {
        const first = await readOffsets(cluster, topic, EARLIEST, ASK_TIMEOUT_MS);
        const ends = await readOffsets(cluster, topic, LATEST, ASK_TIMEOUT_MS);
        if (tries > 0) logger.info({ topic }, 'the topic can be read now');
        return this.#start(first, ends);
      } catch (error) {
        const reason = (error as Error).message;
        if (tries === 0 && !signal.aborted) logger.warn({ topic, error: reason }, 'a topic cannot be read yet');
      }
      await pause(RETRY_PAUSE_MS, signal);
    }
  }

  #start(first: readonly bigint[], ends: readonly bigint[]): void {
    const { from } = this.#options;
    const wanted = from === 'beginning' ? first : from === 'end' ? ends : from;
    try {
      this.#positions = first.map((stored, partition) => {
        const offset = wanted[partition] ?? stored;
        return offset < stored ? this.#nextStored(partition, offset, stored) : offset;
      });
    } catch (error) {
      return this.#fail(error as Error);
    }
    this.#ends = ends;
    if (!this.#stopping.signal.aborted) {
      for (const [partition, offset] of this.#positions.entries()) this.#fetcher.start(partition, offset);
    }
    this.#checkCaughtUp();
  }

  async #handle(partition: number, { records, nextOffset }: RecordRange): Promise<void> {
    const { topic, onRecords, onPosition } = this.#options;
    const readable = records.filter(({ offset, unreadable: reason }) => {
      if (reason === undefined) return true;
      this.#parts.logger.error({ topic, partition, offset, nextOffset, reason }, 'an unreadable batch was passed over');
      return false;
    });
    if (readable.length > 0) await onRecords(partition, readable);
    this.#positions[partition] = nextOffset;
    onPosition?.(partition, nextOffset);
    this.#checkCaughtUp();
  }

  /** The offset to go on from where one is wanted that the log does not hold (any more). Throws RecordsDeleted. */
  #nextStored(partition: number, wanted: bigint, first: bigint): bigint {
    const { topic, isGapless } = this.#options;
    if (isGapless && first > wanted) {
      throw new RecordsDeleted(`${topic}/${partition} is stored from offset ${first} on, and ${wanted} is wanted`);
    }
    this.#parts.logger.warn(
      { topic, partition, offset: wanted, first },
      'an offset is not stored: skipping to the first',
    );
    return first;
  }

  #checkCaughtUp(): void {
    if (this.#ends?.every((end, partition) => (this.#positions[partition] ?? 0n) >= end)) {
      this.#ends = undefined;
      this.#caughtUp.resolve();
    }
  }

  #fail(error: Error): void {
    const { topic, onFatal } = this.#options;
    this.#parts.logger.error({ topic, error: error.message, stack: error.stack }, 'following a topic has stopped');
    onFatal?.(error);
  }
}
