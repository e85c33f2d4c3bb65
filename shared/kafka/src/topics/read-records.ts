import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
import { assertAccepted, KafkaRefused } from '../cluster/error-codes.js';
import { decodeBatches } from '../consume/decode-batches.js';
import { fetchOnce } from '../consume/fetch-request.js';
import { LogUnavailable, unavailable } from '../failures.js';
import type { StoredRecord, TopicPartition } from '../log.js';

const RETRY_PAUSE_MS = 20;
const FETCH_BYTES_MAX = 64 * 1024;
/** Kafka answers so where an offset is not stored any more. */
const OFFSET_OUT_OF_RANGE = 1;

/** Reads single records of one partition; see `Log.readRecords`. */
export async function readRecords(
  cluster: Cluster,
  place: TopicPartition,
  offsets: readonly bigint[],
  timeoutMs: number,
): Promise<ReadonlyMap<bigint, StoredRecord>> {
  const deadline = deadlineIn(timeoutMs);
  const wanted = new Set(offsets);
  const found = new Map<bigint, StoredRecord>();
  for (const offset of [...wanted].sort((a, b) => (a < b ? -1 : 1))) {
    // A fetch brings whole batches, with records that are wanted later.
    if (found.has(offset)) continue;
    const read = () =>
      readFrom(cluster, place, offset, deadline).catch((error: unknown) => {
        cluster.forgetLayout(place.topic);
        throw error instanceof KafkaRefused ? unavailable(error.message, error) : error;
      });
    const records = await retryUntil(deadline, RETRY_PAUSE_MS, read, (error) => error instanceof LogUnavailable);
    for (const record of records) if (wanted.has(record.offset)) found.set(record.offset, record);
  }
  return found;
}

async function readFrom(
  cluster: Cluster,
  { topic, partition }: TopicPartition,
  from: bigint,
  deadline: Deadline,
): Promise<readonly StoredRecord[]> {
  const leader = await cluster.leaderOf(topic, partition, deadline);
  const [fetched] = await fetchOnce(leader, topic, [{ partition, from }], 0, deadline, FETCH_BYTES_MAX);
  if (fetched === undefined) throw unavailable(`a fetch of ${topic}/${partition} was answered without it`);
  if (fetched.errorCode === OFFSET_OUT_OF_RANGE) return [];
  assertAccepted(`fetching ${topic}/${partition}`, fetched.errorCode);
  return decodeBatches(topic, fetched, from, 'utf8').records.filter(({ unreadable }) => unreadable === undefined);
}
