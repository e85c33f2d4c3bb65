import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
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

  constructor(cluster: Cluster, endOffsets: (topic: string, timeoutMs: number) => Promise<readonly bigint[]>) {
    this.#cluster = cluster;
    this.#endOffsets = endOffsets;
  }

  async read(
    topic: string,
    partition: number,
    { recordsMax, timeoutMs }: { readonly recordsMax: number; readonly timeoutMs: number },
  ): Promise<readonly StoredRecord[]> {
    const deadline = deadlineIn(timeoutMs);
    const read = () =>
      this.#readOnce({ topic, partition, recordsMax, deadline }).catch((error: unknown) => {
        this.#cluster.forgetLayout(topic);
        throw error instanceof KafkaRefused ? unavailable(error.message, error) : error;
      });
    return retryUntil(deadline, RETRY_PAUSE_MS, read, (error) => error instanceof LogUnavailable);
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
