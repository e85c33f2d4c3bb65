import type { Cluster } from '../cluster/cluster.js';
import { pause } from '../cluster/deadline.js';
import { RecordsDeleted } from '../failures.js';
import type { Following, FollowOptions, Logger } from '../log.js';
import type { ReadOffsets } from '../topics/read-offsets.js';
import { Fetcher, type RecordRange } from './fetch-partitions.js';

const RECORDS_MAX = 5_000;
const ASK_TIMEOUT_MS = 5_000;
const RETRY_PAUSE_MS = 200;

export interface FollowerParts {
  readonly cluster: Cluster;
  readonly logger: Logger;
  readonly onStop: () => void;
  readonly firstOffsets: ReadOffsets;
  readonly endOffsets: ReadOffsets;
}

/**
 * Reads every partition of a topic, from its beginning, its end or given offsets, for this process alone. There is no
 * consumer group, so none has to be waited for and none is left behind.
 */
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
      recordsMax: options.recordsMax ?? RECORDS_MAX,
      handle: (partition, range) => this.#handle(partition, range),
      onOutOfRange: (partition, offset) => this.#firstStored(partition, offset),
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
    const { logger, firstOffsets, endOffsets } = this.#parts;
    let reason: string | undefined;
    for (; !this.#stopping.signal.aborted; await pause(RETRY_PAUSE_MS, this.#stopping.signal)) {
      try {
        const first = await firstOffsets(topic, ASK_TIMEOUT_MS);
        const ends = await endOffsets(topic, ASK_TIMEOUT_MS);
        if (reason !== undefined) logger.info({ topic }, 'the topic can be read now');
        return this.#start(first, ends);
      } catch (error) {
        if (reason === undefined && !this.#stopping.signal.aborted) {
          reason = (error as Error).message;
          logger.warn({ topic, error: reason }, 'a topic cannot be read yet: it is tried until it can');
        }
      }
    }
  }

  #start(first: readonly bigint[], ends: readonly bigint[]): void {
    try {
      this.#positions = startOffsets(this.#options, first, ends);
    } catch (error) {
      return this.#fail(error as Error);
    }
    this.#ends = ends;
    const { from } = this.#options;
    if (!this.#stopping.signal.aborted) {
      this.#positions.forEach((offset, partition) => {
        if (typeof from === 'string' || from[partition] !== undefined) this.#fetcher.start(partition, offset);
      });
    }
    this.#checkCaughtUp();
  }

  async #handle(partition: number, { records, nextOffset, unreadable }: RecordRange): Promise<void> {
    if (unreadable !== undefined) {
      const { bytes: _, ...described } = unreadable;
      this.#parts.logger.error(described, 'an unreadable batch was passed over');
    }
    if (records.length > 0) {
      await this.#options.onRecords(partition, records);
    }
    this.#advance(partition, nextOffset);
  }

  async #firstStored(partition: number, offset: bigint): Promise<bigint> {
    const { topic, isGapless } = this.#options;
    const { logger, firstOffsets } = this.#parts;
    const start = (await firstOffsets(topic, ASK_TIMEOUT_MS))[partition] ?? 0n;
    if (isGapless) {
      assertStored(topic, partition, offset, start);
    }
    logger.warn({ topic, partition, offset, start }, 'the offset is not stored any more: going on from the first');
    this.#advance(partition, start);
    return start;
  }

  #advance(partition: number, nextOffset: bigint): void {
    this.#positions[partition] = nextOffset;
    this.#options.onPosition?.(partition, nextOffset);
    this.#checkCaughtUp();
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

function startOffsets(
  { topic, from, isGapless }: FollowOptions,
  first: readonly bigint[],
  ends: readonly bigint[],
): bigint[] {
  if (from === 'beginning') {
    return [...first];
  }
  if (from === 'end') {
    return [...ends];
  }
  return first.map((stored, partition) => {
    const wanted = from[partition] ?? ends[partition] ?? 0n;
    if (isGapless) {
      assertStored(topic, partition, wanted, stored);
    }
    return wanted > stored ? wanted : stored;
  });
}

function assertStored(topic: string, partition: number, wanted: bigint, first: bigint): void {
  if (first > wanted) {
    throw new RecordsDeleted(`${topic}/${partition} is stored from offset ${first} on, and ${wanted} is wanted`);
  }
}
