import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn, pause } from '../cluster/deadline.js';
import { assertAccepted, KafkaRefused, nameOfCode } from '../cluster/error-codes.js';
import { LogUnavailable, unavailable } from '../failures.js';
import type { Logger, StoredRecord } from '../log.js';
import { decodeBatches, type UnreadableBatch } from './decode-batches.js';
import { type FetchedPartition, fetchOnce } from './fetch-request.js';

const POLL_MS_MAX = 500;
/** While a partition is left out of a poll because its last records are still being handled, polls are short. */
const SHORT_POLL_MS = 20;
const ANSWER_MS_MAX = 10_000;
const RETRY_PAUSE_MS = 100;
/** A partition is read ahead of its handler up to here. */
const AHEAD_BYTES = 64 * 1024;

/** Consecutive records of a partition: each range starts where the one before ended. */
export interface RecordRange {
  readonly records: readonly StoredRecord[];
  readonly fromOffset: bigint;
  readonly nextOffset: bigint;
  /** Then there are no records. */
  readonly unreadable?: UnreadableBatch;
}

export interface FetcherOptions {
  readonly cluster: Cluster;
  readonly topic: string;
  readonly headerEncoding: 'utf8' | 'latin1';
  readonly recordsMax: number;
  readonly logger: Logger;
  /** Handles one range; the partition's next one waits for it. A rejection stops everything through `onFatal`. */
  readonly handle: (partition: number, range: RecordRange) => Promise<void>;
  /** The offset is not in the log (any more): answers with the one to go on from, or throws. */
  readonly onOutOfRange: (partition: number, offset: bigint) => Promise<bigint>;
  readonly onFatal: (error: Error) => void;
}

interface Reading {
  readonly partition: number;
  fetchFrom: bigint;
  readonly queue: RecordRange[];
  /** Fetched since the queue was last empty. */
  aheadBytes: number;
  handling: Promise<void> | undefined;
  highWatermark: bigint | undefined;
  /** Where a batch could not be decoded once: it is fetched a second time before it is given up. */
  suspectAt: bigint | undefined;
}

/**
 * Reads partitions from their leaders: one poll per broker is under way, and each partition is handled on its own, so
 * that one whose handler waits holds up no other. Of each partition, one range is handled while the next is fetched.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #readings = new Map<number, Reading>();
  readonly #polls = new Map<number, Promise<void>>();
  readonly #closing = new AbortController();
  #lastPollAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: FetcherOptions) {
    this.#options = options;
  }

  start(partition: number, fetchFrom: bigint): void {
    if (this.#readings.has(partition)) {
      throw new Error(`partition ${partition} of ${this.#options.topic} is already being read`);
    }
    this.#readings.set(partition, {
      partition,
      fetchFrom,
      queue: [],
      aheadBytes: 0,
      handling: undefined,
      highWatermark: undefined,
      suspectAt: undefined,
    });
    // Those that are started together share the first poll.
    queueMicrotask(() => this.#poll());
  }

  /** Hands over nothing more of the partition; resolves when what was handed over has been handled. */
  async stop(partition: number): Promise<void> {
    const reading = this.#readings.get(partition);
    if (reading !== undefined) {
      reading.queue.length = 0;
      this.#readings.delete(partition);
      await reading.handling;
    }
  }

  highWatermark(partition: number): bigint | undefined {
    return this.#readings.get(partition)?.highWatermark;
  }

  lastPollAtMs(): number {
    return this.#lastPollAtMs;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const handled = [...this.#readings.keys()].map((partition) => this.stop(partition));
    this.#options.cluster.close();
    await Promise.all([...handled, ...this.#polls.values()]);
  }

  /** Starts a poll of each leader that has none under way and leads a partition that is ready for more. */
  #poll(): void {
    const { cluster, topic } = this.#options;
    if (this.#closing.signal.aborted) {
      return;
    }
    const layout = cluster.knownLayout(topic);
    const byLeader = Map.groupBy(this.#readings.values(), ({ partition }) => layout?.[partition] ?? UNKNOWN_LEADER);
    for (const [leader, readings] of byLeader) {
      const ready = readings.filter(({ aheadBytes }) => aheadBytes < AHEAD_BYTES);
      if (!this.#polls.has(leader) && ready.length > 0) {
        const waitMs = ready.length < readings.length ? SHORT_POLL_MS : POLL_MS_MAX;
        const work = leader === UNKNOWN_LEADER ? this.#findLeaders() : this.#pollLeader(leader, ready, waitMs);
        const poll = work.finally(() => {
          this.#polls.delete(leader);
          this.#poll();
        });
        this.#polls.set(leader, poll);
      }
    }
  }

  async #findLeaders(): Promise<void> {
    const { cluster, topic, logger } = this.#options;
    try {
      const leaders = await cluster.layoutOf(topic, deadlineIn(ANSWER_MS_MAX));
      if ([...this.#readings.keys()].some((partition) => (leaders[partition] ?? UNKNOWN_LEADER) === UNKNOWN_LEADER)) {
        await this.#forgetLeaders();
      }
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      logger.warn({ topic, error: (error as Error).message }, 'the leaders of a topic are not known');
      await this.#forgetLeaders();
    }
  }

  async #forgetLeaders(): Promise<void> {
    this.#options.cluster.forgetLayout(this.#options.topic);
    await pause(RETRY_PAUSE_MS, this.#closing.signal);
  }

  async #pollLeader(leader: number, ready: readonly Reading[], waitMs: number): Promise<void> {
    const { cluster, topic, logger } = this.#options;
    try {
      const partitions = rotate(ready).map(({ partition, fetchFrom }) => ({ partition, from: fetchFrom }));
      const deadline = deadlineIn(waitMs + ANSWER_MS_MAX);
      const answer = await fetchOnce(cluster.broker(leader), topic, partitions, waitMs, deadline);
      this.#lastPollAtMs = performance.now();
      const accepted = await Promise.allSettled(answer.map((fetched) => this.#accept(ready, fetched)));
      const failed = accepted.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) {
        throw failed.reason;
      }
    } catch (error) {
      if (!(error instanceof LogUnavailable || error instanceof KafkaRefused)) {
        this.#fail(error as Error);
      } else if (!this.#closing.signal.aborted) {
        logger.warn({ topic, leader, error: error.message }, 'polling a broker failed');
        // A broker that is gone cannot report that its partitions have other leaders now: the cluster is asked.
        await this.#forgetLeaders();
      }
    }
  }

  /** Takes what was fetched of one partition. */
  async #accept(ready: readonly Reading[], fetched: FetchedPartition): Promise<void> {
    const { topic, headerEncoding, logger, onOutOfRange } = this.#options;
    const { partition, errorCode, highWatermark, bytes } = fetched;
    const reading = this.#readings.get(partition);
    if (reading === undefined || !ready.includes(reading)) {
      // It was stopped, and perhaps begun anew, meanwhile.
      return;
    }
    const { fetchFrom } = reading;
    if (nameOfCode(errorCode) === 'OFFSET_OUT_OF_RANGE') {
      reading.fetchFrom = await onOutOfRange(partition, fetchFrom);
      return;
    }
    assertAccepted(`fetching ${topic}/${partition}`, errorCode);
    reading.highWatermark = highWatermark;
    if (bytes.length === 0) {
      return;
    }
    const { records, nextOffset, unreadable } = decodeBatches(topic, fetched, fetchFrom, headerEncoding);
    if (nextOffset === fetchFrom) {
      throw unavailable(`a fetch of ${topic}/${partition} from ${fetchFrom} holds no whole batch`);
    }
    if (unreadable === undefined) {
      reading.queue.push({ records, fromOffset: fetchFrom, nextOffset });
    } else if (reading.suspectAt === fetchFrom) {
      reading.queue.push({ records: [], fromOffset: fetchFrom, nextOffset, unreadable });
    } else {
      const { baseOffset, reason } = unreadable;
      logger.warn({ topic, partition, baseOffset, reason }, 'a batch cannot be decoded, it is fetched again');
      reading.suspectAt = fetchFrom;
      return;
    }
    reading.fetchFrom = nextOffset;
    reading.aheadBytes += bytes.length;
    reading.handling ??= this.#handleQueue(reading);
  }

  async #handleQueue(reading: Reading): Promise<void> {
    const take = () => takeRange(reading.queue, this.#options.recordsMax);
    try {
      for (let next = take(); next !== undefined; next = take()) {
        if (reading.queue.length === 0) {
          reading.aheadBytes = 0;
          this.#poll();
        }
        await this.#options.handle(reading.partition, next);
      }
    } catch (error) {
      this.#fail(error as Error);
    } finally {
      reading.handling = undefined;
    }
  }

  #fail(error: Error): void {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort();
      this.#options.onFatal(error);
    }
  }
}

const UNKNOWN_LEADER = -1;

/** A response is filled in the order of the request: each poll begins with another partition. */
function rotate<T>(items: readonly T[]): readonly T[] {
  const first = Math.floor(Math.random() * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}

/** What came first, at most so many records, as one range. */
function takeRange(queue: RecordRange[], recordsMax: number): RecordRange | undefined {
  const [first] = queue;
  if (first === undefined || first.unreadable !== undefined) return queue.shift();
  const records: StoredRecord[] = [];
  let nextOffset = first.fromOffset;
  for (let next = queue[0]; next !== undefined && next.unreadable === undefined; [next] = queue) {
    const room = recordsMax - records.length;
    if (room === 0) break;
    records.push(...next.records.slice(0, room));
    const behind = next.records[room];
    nextOffset = behind?.offset ?? next.nextOffset;
    queue.shift();
    if (behind !== undefined) queue.unshift({ ...next, records: next.records.slice(room), fromOffset: nextOffset });
  }
  return { records, fromOffset: first.fromOffset, nextOffset };
}
