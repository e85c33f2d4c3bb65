import type { Cluster } from '../cluster/cluster.js';
import { unavailable } from '../failures.js';
import type { StoredRecord, TopicPartition } from '../log.js';
import { EARLIEST, LATEST, readOffsets } from './read-offsets.js';
import { readRange } from './read-range.js';

const RECORDS_MAX = 16;
/** Enough for a transaction or two; where their records were aborted, the next try reaches further back. */
const REACH = 16n;
const REACH_FACTOR = 16n;
const REACH_MAX = 65_536n;
const TIMEOUT_MS = 10_000;

/** Reads the newest committed records of one partition; see `Log.readLastRecords`. */
export async function readLastRecords(cluster: Cluster, place: TopicPartition): Promise<readonly StoredRecord[]> {
  const { topic, partition } = place;
  const first = (await readOffsets(cluster, topic, EARLIEST, TIMEOUT_MS))[partition];
  const end = (await readOffsets(cluster, topic, LATEST, TIMEOUT_MS))[partition];
  if (first === undefined || end === undefined) throw unavailable(`${topic} has no partition ${partition}`);
  for (let reach = REACH; ; reach *= REACH_FACTOR) {
    const from: bigint = end > first + reach ? end - reach : first;
    let last: readonly StoredRecord[] = [];
    for await (const { records } of readRange(cluster, place, from, end))
      last = [...last, ...records].slice(-RECORDS_MAX);
    if (last.length > 0 || from === first || reach >= REACH_MAX) return last;
  }
}
