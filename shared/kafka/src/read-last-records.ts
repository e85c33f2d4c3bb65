import { decodeFetched } from './decode-fetched.js';
import { LogUnavailable } from './failures.js';
import { fetchOnce } from './fetch-once.js';
import type { StoredRecord } from './log.js';
import { type Connections, unavailable } from './reach-brokers.js';
import { readStartOffsets } from './read-end-offsets.js';
import { codes, KafkaRefused } from './speak-kafka.js';
import { type Deadline, deadlineIn, pause } from './wait.js';

/** Enough for a transaction or two; where their records were aborted, the next try reaches further back. */
const REACH = 16n;
const REACH_FACTOR = 16n;
const REACH_MAX = 65_536n;
/** A process that starts asks for all its partitions at once, over one connection. */
const READINGS_MAX = 8;

/** Hands back the newest committed records of one partition; see `Log.readLastRecords`. */
export function lastRecordReader(
  connections: Connections,
  endOffsets: (topic: string, timeoutMs: number) => Promise<readonly bigint[]>,
) {
  async function read(topic: string, partition: number, recordsMax: number, deadline: Deadline) {
    const end = (await endOffsets(topic, deadline.leftMs()))[partition];
    if (end === undefined) {
      throw unavailable(`${topic} has no partition ${partition}`);
    }
    for (let reach = REACH; ; reach *= REACH_FACTOR) {
      const from = end > reach ? end - reach : 0n;
      const records = await readRange(topic, partition, from, end, recordsMax, deadline);
      if (records.length > 0 || from === 0n || reach >= REACH_MAX) {
        return records;
      }
    }
  }

  async function readRange(
    topic: string,
    partition: number,
    from: bigint,
    end: bigint,
    recordsMax: number,
    deadline: Deadline,
  ): Promise<readonly StoredRecord[]> {
    let last: readonly StoredRecord[] = [];
    for (let at = from; at < end; ) {
      const leader = await connections.leaderOf(topic, partition, deadline);
      const answer = await fetchOnce(leader, topic, [{ partition, from: at }], 0, deadline);
      const [fetched] = answer.partitions;
      const errorCode = answer.errorCode === codes.none ? (fetched?.errorCode ?? codes.none) : answer.errorCode;
      if (errorCode === codes.offsetOutOfRange) {
        const start = (await readStartOffsets(connections, topic, deadline))[partition] ?? 0n;
        if (start <= at) {
          throw new KafkaRefused(`fetching ${topic}/${partition}`, errorCode);
        }
        at = start;
        continue;
      }
      if (fetched === undefined || errorCode !== codes.none) {
        throw new KafkaRefused(`fetching ${topic}/${partition}`, errorCode);
      }
      const { records, nextOffset } = decodeFetched(topic, fetched, at, 'utf8');
      // A transaction that is not ended yet: what stands behind it is not committed.
      if (nextOffset === at) {
        return last;
      }
      last = [...last, ...records].slice(-recordsMax);
      at = nextOffset;
    }
    return last;
  }

  async function readOrRetry(topic: string, partition: number, recordsMax: number, deadline: Deadline) {
    for (;;) {
      try {
        return await read(topic, partition, recordsMax, deadline);
      } catch (error) {
        if (!(error instanceof LogUnavailable || error instanceof KafkaRefused)) {
          throw error;
        }
        connections.forgetLayout(topic);
        if (deadline.leftMs() < 20) {
          throw error instanceof LogUnavailable
            ? error
            : unavailable(`the end of ${topic}/${partition} could not be read`, error);
        }
        await pause(20);
      }
    }
  }

  const waiting: (() => void)[] = [];
  let readings = 0;
  return async (
    topic: string,
    partition: number,
    { recordsMax, timeoutMs }: { readonly recordsMax: number; readonly timeoutMs: number },
  ): Promise<readonly StoredRecord[]> => {
    const deadline = deadlineIn(timeoutMs);
    if (readings >= READINGS_MAX) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    }
    readings += 1;
    try {
      return await readOrRetry(topic, partition, recordsMax, deadline);
    } finally {
      readings -= 1;
      waiting.shift()?.();
    }
  };
}
