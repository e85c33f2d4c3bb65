import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
import { assertAccepted, KafkaRefused } from '../cluster/error-codes.js';
import { decodeBatches } from '../consume/decode-batches.js';
import { fetchOnce } from '../consume/fetch-request.js';
import { LogUnavailable, unavailable } from '../failures.js';
import type { StoredRecord, TopicPartition } from '../log.js';
import { EARLIEST, LATEST, readOffsets } from './read-offsets.js';

const RECORDS_MAX = 16;
/** Enough for a transaction or two; where their records were aborted, the next try reaches further back. */
const REACH = 16n;
const REACH_FACTOR = 16n;
const REACH_MAX = 65_536n;
const TIMEOUT_MS = 10_000;
const RETRY_PAUSE_MS = 20;

/** Reads the newest committed records of one partition; see `Log.readLastRecords`. */
export function readLastRecords(cluster: Cluster, place: TopicPartition): Promise<readonly StoredRecord[]> {
  const deadline = deadlineIn(TIMEOUT_MS);
  const read = () =>
    readOnce(cluster, place, deadline).catch((error: unknown) => {
      cluster.forgetLayout(place.topic);
      throw error instanceof KafkaRefused ? unavailable(error.message, error) : error;
    });
  return retryUntil(deadline, RETRY_PAUSE_MS, read, (error) => error instanceof LogUnavailable);
}

async function readOnce(cluster: Cluster, place: TopicPartition, deadline: Deadline): Promise<readonly StoredRecord[]> {
  const { topic, partition } = place;
  const first = (await readOffsets(cluster, topic, EARLIEST, deadline.leftMs()))[partition];
  const end = (await readOffsets(cluster, topic, LATEST, deadline.leftMs()))[partition];
  if (first === undefined || end === undefined) throw unavailable(`${topic} has no partition ${partition}`);
  for (let reach = REACH; ; reach *= REACH_FACTOR) {
    const from: bigint = end > first + reach ? end - reach : first;
    const records = await readRange(cluster, place, from, end, deadline);
    if (records.length > 0 || from === first || reach >= REACH_MAX) return records;
  }
}

async function readRange(
  cluster: Cluster,
  { topic, partition }: TopicPartition,
  from: bigint,
  end: bigint,
  deadline: Deadline,
): Promise<readonly StoredRecord[]> {
  let last: readonly StoredRecord[] = [];
  for (let at = from; at < end; ) {
    const leader = await cluster.leaderOf(topic, partition, deadline);
    const [fetched] = await fetchOnce(leader, topic, [{ partition, from: at }], 0, deadline);
    if (fetched === undefined) throw unavailable(`a fetch of ${topic}/${partition} was answered without it`);
    assertAccepted(`fetching ${topic}/${partition}`, fetched.errorCode);
    const { records, nextOffset } = decodeBatches(topic, fetched, at, 'utf8');
    // A transaction that has not ended yet: what follows is not committed.
    if (nextOffset === at) break;
    // Every reader passes over a batch that cannot be decoded.
    const readable = records.filter(({ unreadable }) => unreadable === undefined);
    last = [...last, ...readable].slice(-RECORDS_MAX);
    at = nextOffset;
  }
  return last;
}
