import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, pause } from '../cluster/deadline.js';
import { assertAccepted, KafkaRefused, NO_ERROR, nameOfCode } from '../cluster/error-codes.js';
import { decodeBatches } from '../consume/decode-batches.js';
import { fetchOnce } from '../consume/fetch-request.js';
import { LogUnavailable, unavailable } from '../failures.js';
import type { StoredRecord } from '../log.js';
import { readStartOffsets } from './read-offsets.js';

/** Enough for a transaction or two; where their records were aborted, the next try reaches further back. */
const REACH = 16n;
const REACH_FACTOR = 16n;
const REACH_MAX = 65_536n;
/** A process that starts asks for all its partitions at once, over one connection. */
const READINGS_MAX = 8;
const RETRY_PAUSE_MS = 20;

interface Wanted {
  readonly topic: string;
  readonly partition: number;
  readonly recordsMax: number;
  readonly deadline: Deadline;
}

/** Reads the newest committed records of one partition; see `Log.readLastRecords`. */
export class LastRecordReader {
  readonly #cluster: Cluster;
  readonly #endOffsets: (topic: string, timeoutMs: number) => Promise<readonly bigint[]>;
  readonly #waiting: (() => void)[] = [];
  #readings = 0;

  constructor(cluster: Cluster, endOffsets: (topic: string, timeoutMs: number) => Promise<readonly bigint[]>) {
    this.#cluster = cluster;
    this.#endOffsets = endOffsets;
  }

  async read(
    topic: string,
    partition: number,
    { recordsMax, timeoutMs }: { readonly recordsMax: number; readonly timeoutMs: number },
  ): Promise<readonly StoredRecord[]> {
    const wanted = { topic, partition, recordsMax, deadline: deadlineIn(timeoutMs) };
    if (this.#readings >= READINGS_MAX) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#readings += 1;
    try {
      return await this.#readOrRetry(wanted);
    } finally {
      this.#readings -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #readOrRetry(wanted: Wanted): Promise<readonly StoredRecord[]> {
    const { topic, partition, deadline } = wanted;
    for (;;) {
      try {
        return await this.#readOnce(wanted);
      } catch (error) {
        if (!(error instanceof LogUnavailable || error instanceof KafkaRefused)) {
          throw error;
        }
        this.#cluster.forgetLayout(topic);
        if (deadline.leftMs() < RETRY_PAUSE_MS) {
          throw error instanceof LogUnavailable
            ? error
            : unavailable(`the end of ${topic}/${partition} could not be read`, error);
        }
        await pause(RETRY_PAUSE_MS);
      }
    }
  }

  async #readOnce(wanted: Wanted): Promise<readonly StoredRecord[]> {
    const { topic, partition, deadline } = wanted;
    const end = (await this.#endOffsets(topic, deadline.leftMs()))[partition];
    if (end === undefined) {
      throw unavailable(`${topic} has no partition ${partition}`);
    }
    for (let reach = REACH; ; reach *= REACH_FACTOR) {
      const from = end > reach ? end - reach : 0n;
      const records = await this.#readRange(wanted, from, end);
      if (records.length > 0 || from === 0n || reach >= REACH_MAX) {
        return records;
      }
    }
  }

  async #readRange(wanted: Wanted, from: bigint, end: bigint): Promise<readonly StoredRecord[]> {
    const { topic, partition, recordsMax, deadline } = wanted;
    let last: readonly StoredRecord[] = [];
    for (let at = from; at < end; ) {
      const leader = await this.#cluster.leaderOf(topic, partition, deadline);
      const answer = await fetchOnce(leader, topic, [{ partition, from: at }], 0, deadline);
      const [fetched] = answer.partitions;
      const code = answer.errorCode === NO_ERROR ? (fetched?.errorCode ?? NO_ERROR) : answer.errorCode;
      if (nameOfCode(code) === 'OFFSET_OUT_OF_RANGE') {
        at = await this.#firstStored(wanted, at);
        continue;
      }
      assertAccepted(`fetching ${topic}/${partition}`, code);
      if (fetched === undefined) {
        throw unavailable(`a fetch of ${topic}/${partition} was answered without it`);
      }
      // A batch that cannot be decoded is passed over, as every reader does.
      const { records, nextOffset } = decodeBatches(topic, fetched, at, 'utf8');
      // A transaction that is not ended yet: what follows is not committed.
      if (nextOffset === at) {
        return last;
      }
      last = [...last, ...records].slice(-recordsMax);
      at = nextOffset;
    }
    return last;
  }

  async #firstStored({ topic, partition, deadline }: Wanted, at: bigint): Promise<bigint> {
    const start = (await readStartOffsets(this.#cluster, topic, deadline))[partition] ?? 0n;
    if (start <= at) {
      throw new KafkaRefused(`fetching ${topic}/${partition}`, 'OFFSET_OUT_OF_RANGE');
    }
    return start;
  }
}
