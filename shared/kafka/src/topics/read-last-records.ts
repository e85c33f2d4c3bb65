import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
import { assertAccepted, KafkaRefused } from '../cluster/error-codes.js';
import { decodeBatches } from '../consume/decode-batches.js';
import { fetchOnce } from '../consume/fetch-request.js';
import { LogUnavailable, unavailable } from '../failures.js';
import type { StoredRecord } from '../log.js';
import type { ReadOffsets } from './read-offsets.js';

const RECORDS_MAX = 16;
/** Enough for a transaction or two; where their records were aborted, the next try reaches further back. */
const REACH = 16n;
const REACH_FACTOR = 16n;
const REACH_MAX = 65_536n;
const TIMEOUT_MS = 10_000;
const RETRY_PAUSE_MS = 20;

export interface LastRecordParts {
  readonly cluster: Cluster;
  readonly firstOffsets: ReadOffsets;
  readonly endOffsets: ReadOffsets;
}

interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** Reads the newest committed records of one partition; see `Log.readLastRecords`. */
export function readLastRecords(parts: LastRecordParts, place: Place): Promise<readonly StoredRecord[]> {
  const deadline = deadlineIn(TIMEOUT_MS);
  const read = () =>
    readOnce(parts, place, deadline).catch((error: unknown) => {
      parts.cluster.forgetLayout(place.topic);
      throw error instanceof KafkaRefused ? unavailable(error.message, error) : error;
    });
  return retryUntil(deadline, RETRY_PAUSE_MS, read, (error) => error instanceof LogUnavailable);
}

async function readOnce(
  { cluster, firstOffsets, endOffsets }: LastRecordParts,
  place: Place,
  deadline: Deadline,
): Promise<readonly StoredRecord[]> {
  const { topic, partition } = place;
  const offsets = await Promise.all([firstOffsets, endOffsets].map((read) => read(topic, deadline.leftMs())));
  const [first, end] = offsets.map((ofTopic) => ofTopic[partition]);
  if (first === undefined || end === undefined) {
    throw unavailable(`${topic} has no partition ${partition}`);
  }
  for (let reach = REACH; ; reach *= REACH_FACTOR) {
    const from: bigint = end > first + reach ? end - reach : first;
    const records = await readRange(cluster, place, [from, end], deadline);
    if (records.length > 0 || from === first || reach >= REACH_MAX) {
      return records;
    }
  }
}

async function readRange(
  cluster: Cluster,
  { topic, partition }: Place,
  [from, end]: readonly [bigint, bigint],
  deadline: Deadline,
): Promise<readonly StoredRecord[]> {
  let last: readonly StoredRecord[] = [];
  for (let at = from; at < end; ) {
    const leader = await cluster.leaderOf(topic, partition, deadline);
    const [fetched] = await fetchOnce(leader, topic, [{ partition, from: at }], 0, deadline);
    if (fetched === undefined) {
      throw unavailable(`a fetch of ${topic}/${partition} was answered without it`);
    }
    assertAccepted(`fetching ${topic}/${partition}`, fetched.errorCode);
    // A batch that cannot be decoded is passed over, as every reader does.
    const { records, nextOffset } = decodeBatches(topic, fetched, at, 'utf8');
    // A transaction that is not ended yet: what follows is not committed.
    if (nextOffset === at) {
      return last;
    }
    last = [...last, ...records].slice(-RECORDS_MAX);
    at = nextOffset;
  }
  return last;
}
