import { pause } from '@makerbook/contracts-primitives';
import type { Cluster } from '../cluster/cluster.js';
import { FatalError } from '../failures.js';
import type { Following, FollowOptions, Logger } from '../log.js';
import { EARLIEST, LATEST, readOffsets } from '../topics/read-offsets.js';
import { Fetcher, type RecordRange } from './fetch-partitions.js';

const ASK_TIMEOUT_MS = 5_000;
const RETRY_PAUSE_MS = 200;
/** Must stay below the age at which news is too old for a chain-watcher to take over. */
export const POLL_MS_MAX = 1_500;

/** Reads every partition of a topic, from its beginning, its end or given offsets, for this process alone. */
export class TopicFollower implements Following {
  readonly #options: FollowOptions;
  readonly #cluster: Cluster;
  readonly #logger: Logger;
  readonly #fetcher: Fetcher;
  readonly #stopping = new AbortController();
  readonly #beginning: Promise<void>;
  #positions: bigint[] = [];
  /** The end offsets at the start, until they are reached. */
  #ends: readonly bigint[] | undefined;
  readonly #caughtUp = Promise.withResolvers<void>();
  readonly caughtUp = this.#caughtUp.promise;

  constructor(cluster: Cluster, logger: Logger, options: FollowOptions) {
    this.#cluster = cluster;
    this.#logger = logger;
    this.#options = options;
    this.#fetcher = new Fetcher({
      cluster,
      topic: options.topic,
      logger,
      headerEncoding: options.headerEncoding ?? 'utf8',
      pollMsMax: POLL_MS_MAX,
      pauseMs: () => (this.#ends === undefined && this.#positions.length > 0 ? (options.pauseMs ?? 0) : 0),
      handle: (partition, range) => this.#handle(partition, range),
      onOutOfRange: (partition, offset) => this.#nextStored(partition, offset),
      onFatal: (error) => options.onFatal?.(error),
    });
    this.#beginning = this.#begin();
  }

  readonly positions = (): readonly bigint[] => [...this.#positions];

  readonly lastPollAtMs = (): number => this.#fetcher.lastPollAtMs();

  readonly stop = async (): Promise<void> => {
    this.#stopping.abort();
    await this.#fetcher.close();
    await this.#beginning;
  };

  async #begin(): Promise<void> {
    const { topic, from } = this.#options;
    const { signal } = this.#stopping;
    for (let tries = 0; !signal.aborted; tries += 1) {
      try {
        const ends = await readOffsets(this.#cluster, topic, LATEST, ASK_TIMEOUT_MS);
        if (tries > 0) this.#logger.info({ topic }, 'the topic can be read now');
        const wanted = from === 'end' ? ends : from;
        this.#ends = ends;
        this.#positions = ends.map((_, partition) => (wanted === 'beginning' ? 0n : (wanted[partition] ?? 0n)));
        for (const [partition, offset] of this.#positions.entries()) this.#fetcher.start(partition, offset);
        return this.#checkCaughtUp();
      } catch (error) {
        const reason = (error as Error).message;
        if (tries === 0 && !signal.aborted) this.#logger.warn({ topic, error: reason }, 'a topic cannot be read yet');
      }
      await pause(RETRY_PAUSE_MS, signal);
    }
  }

  async #handle(partition: number, { records, nextOffset }: RecordRange): Promise<void> {
    const { topic, onRecords, onPosition } = this.#options;
    const readable = records.filter(({ offset, unreadable: reason }) => {
      if (reason === undefined) return true;
      this.#logger.error({ topic, partition, offset, nextOffset, reason }, 'an unreadable batch was skipped');
      return false;
    });
    if (readable.length > 0) await onRecords(partition, readable);
    this.#positions[partition] = nextOffset;
    onPosition?.(partition, nextOffset);
    this.#checkCaughtUp();
  }

  /** The first stored offset, used if the log does not hold the wanted one. Throws FatalError if `isGapless`. */
  async #nextStored(partition: number, wanted: bigint): Promise<bigint> {
    const { topic, isGapless } = this.#options;
    const first = (await readOffsets(this.#cluster, topic, EARLIEST, ASK_TIMEOUT_MS))[partition] ?? 0n;
    if (isGapless) {
      const what = first > wanted ? `is stored from offset ${first} on` : 'has lost its end';
      throw new FatalError(`${topic}/${partition} ${what}, but offset ${wanted} is wanted`);
    }
    this.#logger.warn({ topic, partition, offset: wanted, first }, 'an offset is not stored: skipping to the first');
    return first;
  }

  #checkCaughtUp(): void {
    if (this.#ends?.every((end, partition) => (this.#positions[partition] ?? 0n) >= end)) {
      this.#ends = undefined;
      this.#caughtUp.resolve();
    }
  }
}
