import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn } from '../cluster/deadline.js';
import { unavailable } from '../failures.js';
import type { StoredRecord, TopicPartition } from '../log.js';
import { readBatches, retryRead } from './read-batches.js';
import { EARLIEST, LATEST, readOffsets } from './read-offsets.js';

const RECORDS_MAX = 16;
/** Enough for a transaction or two; where their records were aborted, the next try reaches further back. */
const REACH = 16n;
const REACH_FACTOR = 16n;
const REACH_MAX = 65_536n;
const TIMEOUT_MS = 10_000;

/** Reads the newest committed records of one partition; see `Log.readLastRecords`. */
export function readLastRecords(cluster: Cluster, place: TopicPartition): Promise<readonly StoredRecord[]> {
  const deadline = deadlineIn(TIMEOUT_MS);
  return retryRead(cluster, place.topic, deadline, () => readOnce(cluster, place, deadline));
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
  place: TopicPartition,
  from: bigint,
  end: bigint,
  deadline: Deadline,
): Promise<readonly StoredRecord[]> {
  let last: readonly StoredRecord[] = [];
  for (let at = from; at < end; ) {
    const { records, nextOffset } = await readBatches(cluster, place, at, deadline);
    if (nextOffset === at) break;
    last = [...last, ...records].slice(-RECORDS_MAX);
    at = nextOffset;
  }
  return last;
}
