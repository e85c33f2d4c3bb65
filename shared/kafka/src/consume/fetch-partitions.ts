import { pause } from '@makerbook/contracts-primitives';
import { type Cluster, NO_NODE } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { assertAccepted, KafkaRefused, nameOfCode } from '../cluster/error-codes.js';
import { LogUnavailable, unavailable } from '../failures.js';
import type { Logger } from '../log.js';
import { type Decoded, decodeBatches, type FetchedRecord } from './decode-batches.js';
import { type FetchedPartition, fetchOnce } from './fetch-request.js';

/** Polls are short while they leave out a partition whose handler is behind. */
const SHORT_POLL_MS = 20;
const ANSWER_MS_MAX = 10_000;
const RETRY_PAUSE_MS = 100;
/** How far a partition is read ahead of its handler. */
const AHEAD_BYTES = 64 * 1024;

/** Consecutive records of a partition: each range starts where the one before ended. */
export interface RecordRange extends Decoded {
  readonly fromOffset: bigint;
}

export interface FetcherOptions {
  readonly cluster: Cluster;
  readonly topic: string;
  readonly headerEncoding: 'utf8' | 'latin1';
  /** How long a broker may wait for news before it answers. A partition that is started meanwhile waits too. */
  readonly pollMsMax: number;
  /** Bound on the records of one range. */
  readonly recordsMax?: number;
  /** Pause between two polls of a broker. */
  readonly pauseMs?: () => number;
  readonly logger: Logger;
  /** Handles one range; the partition's next one waits for it. A rejection stops everything through `onFatal`. */
  readonly handle: (partition: number, range: RecordRange) => Promise<void>;
  /** Called for an offset that the log does not hold. Answers with the offset to continue from, or throws. */
  readonly onOutOfRange: (partition: number, offset: bigint) => Promise<bigint>;
  readonly onFatal: (error: Error) => void;
}

interface Reading {
  readonly partition: number;
  handFrom: bigint;
  fetchFrom: bigint;
  /** Records fetched but not handed over yet, between the two offsets. */
  ahead: readonly FetchedRecord[];
  /** Bytes fetched since `ahead` was last empty. */
  aheadBytes: number;
  handling: Promise<void> | undefined;
  highWatermark: bigint | undefined;
  /** The offset of a batch that could not be decoded. It is fetched once more before it is given up. */
  suspectAt: bigint | undefined;
}

/**
 * Reads partitions from their leaders, with one poll of each broker in flight. Partitions are handled independently: a
 * handler that waits holds up no other. While one range of a partition is handled, the next one is fetched.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #readings = new Map<number, Reading>();
  readonly #polls = new Map<number, Promise<void>>();
  readonly #closing = new AbortController();
  #lastPollAtMs = Number.NEGATIVE_INFINITY;
  #lastTurnAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: FetcherOptions) {
    this.#options = options;
  }

  start(partition: number, from: bigint): void {
    const nothing = { ahead: [], aheadBytes: 0, handling: undefined, highWatermark: undefined, suspectAt: undefined };
    this.#readings.set(partition, { partition, handFrom: from, fetchFrom: from, ...nothing });
    this.#lastPollAtMs = performance.now();
    // Partitions that start together share the first poll.
    queueMicrotask(() => this.#poll());
  }

  /** Hands over nothing more of the partition; resolves when its handler has ended. */
  async stop(partition: number): Promise<void> {
    const reading = this.#readings.get(partition);
    this.#readings.delete(partition);
    await reading?.handling;
  }

  highWatermark(partition: number): bigint | undefined {
    return this.#readings.get(partition)?.highWatermark;
  }

  /** When a broker last answered for a partition, or a partition was started. */
  lastPollAtMs(): number {
    return this.#lastPollAtMs;
  }

  /** When the last poll began, so the one before had ended. Now, if all handlers are behind and nothing is polled. */
  lastTurnAtMs(): number {
    const isFull = [...this.#readings.values()].every(({ aheadBytes }) => aheadBytes >= AHEAD_BYTES);
    return isFull ? performance.now() : this.#lastTurnAtMs;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const handled = [...this.#readings.keys()].map((partition) => this.stop(partition));
    this.#options.cluster.close();
    await Promise.all([...handled, ...this.#polls.values()]);
  }

  /** Polls each leader of a partition that is ready for more, unless a poll of that leader is in flight. */
  #poll(): void {
    const { cluster, topic, pollMsMax } = this.#options;
    if (this.#closing.signal.aborted) return;
    const layout = cluster.knownLayout(topic);
    const byLeader = Map.groupBy(this.#readings.values(), ({ partition }) => layout?.[partition] ?? NO_NODE);
    for (const [leader, readings] of byLeader) {
      const ready = readings.filter(({ aheadBytes }) => aheadBytes < AHEAD_BYTES);
      if (this.#polls.has(leader) || ready.length === 0) continue;
      const waitMs = ready.length < readings.length ? SHORT_POLL_MS : pollMsMax;
      this.#lastTurnAtMs = performance.now();
      const poll = this.#pollLeader(leader, ready, waitMs).finally(() => {
        this.#polls.delete(leader);
        this.#poll();
      });
      this.#polls.set(leader, poll);
    }
  }

  async #pollLeader(leader: number, ready: readonly Reading[], waitMs: number): Promise<void> {
    const { cluster, topic, logger } = this.#options;
    try {
      const deadline = deadlineIn(waitMs + ANSWER_MS_MAX);
      if (leader === NO_NODE) {
        for (const { partition } of ready) await cluster.leaderOf(topic, partition, deadline);
        return;
      }
      const partitions = ready.map(({ partition, fetchFrom }) => ({ partition, from: fetchFrom }));
      const answer = await fetchOnce(cluster.broker(leader), topic, partitions, waitMs, deadline);
      const accepted = await Promise.allSettled(answer.map((fetched) => this.#accept(ready, fetched)));
      if (accepted.some(({ status }) => status === 'fulfilled')) this.#lastPollAtMs = performance.now();
      const failed = accepted.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      const pauseMs = this.#options.pauseMs?.() ?? 0;
      if (pauseMs > 0) await pause(pauseMs, this.#closing.signal);
    } catch (error) {
      if (!(error instanceof LogUnavailable || error instanceof KafkaRefused)) return this.fail(error as Error);
      if (this.#closing.signal.aborted) return;
      logger.warn({ topic, leader, error: error.message }, 'polling a broker failed');
      // A broker that is down cannot report that its partitions have new leaders: ask the cluster. The partitions of
      // other brokers are read meanwhile.
      cluster.forgetLayout(topic);
      await pause(RETRY_PAUSE_MS, this.#closing.signal);
      await cluster.layoutOf(topic, deadlineIn(ANSWER_MS_MAX)).catch(() => undefined);
    }
  }

  /** Takes the answer for one partition. */
  async #accept(ready: readonly Reading[], fetched: FetchedPartition): Promise<void> {
    const { topic, headerEncoding, logger, onOutOfRange } = this.#options;
    const { partition, errorCode, highWatermark, bytes } = fetched;
    const reading = this.#readings.get(partition);
    // The partition may have been stopped meanwhile, and perhaps started again.
    if (reading === undefined || !ready.includes(reading)) return;
    const { fetchFrom } = reading;
    if (nameOfCode(errorCode) === 'OFFSET_OUT_OF_RANGE') {
      reading.fetchFrom = await onOutOfRange(partition, fetchFrom);
    } else {
      assertAccepted(`fetching ${topic}/${partition}`, errorCode);
      reading.highWatermark = highWatermark;
      if (bytes.length === 0) return;
      // Brokers fill a response in the order of the request: let the next request ask for the other partitions first.
      this.#readings.delete(partition);
      this.#readings.set(partition, reading);
      const { records, nextOffset } = decodeBatches(topic, fetched, fetchFrom, headerEncoding);
      if (nextOffset === fetchFrom) {
        throw unavailable(`a fetch of ${topic}/${partition} from ${fetchFrom} holds no whole batch`);
      }
      const unreadable = records[0]?.unreadable;
      if (unreadable !== undefined && reading.suspectAt !== fetchFrom) {
        logger.warn({ topic, partition, fetchFrom, unreadable }, 'a batch cannot be decoded: fetching it again');
        reading.suspectAt = fetchFrom;
        return;
      }
      reading.ahead = [...reading.ahead, ...records];
      reading.fetchFrom = nextOffset;
      reading.aheadBytes += bytes.length;
    }
    if (reading.handFrom !== reading.fetchFrom) reading.handling ??= this.#handleAhead(reading);
  }

  async #handleAhead(reading: Reading): Promise<void> {
    const { recordsMax = Number.POSITIVE_INFINITY, handle } = this.#options;
    const { partition } = reading;
    try {
      while (reading.handFrom !== reading.fetchFrom && this.#readings.get(partition) === reading) {
        const { ahead, handFrom: fromOffset } = reading;
        const records = ahead.length > recordsMax ? ahead.slice(0, recordsMax) : ahead;
        const nextOffset = ahead[recordsMax]?.offset ?? reading.fetchFrom;
        reading.ahead = ahead.slice(recordsMax);
        reading.handFrom = nextOffset;
        if (reading.ahead.length === 0) {
          reading.aheadBytes = 0;
          this.#poll();
        }
        await handle(partition, { records, fromOffset, nextOffset });
      }
    } catch (error) {
      this.fail(error as Error);
    } finally {
      reading.handling = undefined;
    }
  }

  /** Stops reading for good. */
  fail(error: Error): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    const { topic, logger, onFatal } = this.#options;
    logger.error({ topic, error: error.message, stack: error.stack }, 'reading a topic has stopped for good');
    onFatal(error);
  }
}
