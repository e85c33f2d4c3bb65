import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import type { StoredRecord, TopicPartition } from '../log.js';
import { readBatches } from './read-batches.js';

const FETCH_BYTES_MAX = 64 * 1024;

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
    const read = await readBatches(cluster, place, offset, deadline, FETCH_BYTES_MAX);
    for (const record of read?.records ?? []) if (wanted.has(record.offset)) found.set(record.offset, record);
  }
  return found;
}
