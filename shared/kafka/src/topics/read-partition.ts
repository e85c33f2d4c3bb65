import { pause } from '@makerbook/contracts-primitives';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, RETRY_PAUSE_MS } from '../cluster/deadline.js';
import { assertAccepted, nameOfCode } from '../cluster/error-codes.js';
import { decodeBatches } from '../consume/decode-batches.js';
import { fetchOnce } from '../consume/fetch-request.js';
import { FatalError, unavailable } from '../failures.js';
import type { RecordPiece, StoredRecord, TopicPartition } from '../log.js';
import { EARLIEST, LATEST, readOffsets, retryRead } from './read-offsets.js';

const PIECE_BYTES = 256 * 1024;
const PIECE_TIMEOUT_MS = 10_000;
const SINGLE_RECORDS_BYTES = 64 * 1024;
const SINGLE_RECORDS_TIMEOUT_MS = 2_000;
const LAST_RECORDS_MAX = 16;
/** Offsets to look back: enough for a transaction or two. If these were aborted, the next try reaches further. */
const REACH = 16n;
const REACH_MAX = 65_536n;

/** Reads a part of one partition; see `Log.readRange`. */
export async function* readRange(
  cluster: Cluster,
  place: TopicPartition,
  from?: bigint,
  to?: bigint,
): AsyncGenerator<RecordPiece> {
  const { topic, partition } = place;
  let at = from ?? (await offsetAt(cluster, place, EARLIEST));
  const end: bigint = to ?? (await offsetAt(cluster, place, LATEST));
  for (let deadline = deadlineIn(PIECE_TIMEOUT_MS); at < end; ) {
    const read = await readBatches(cluster, place, at, deadline, PIECE_BYTES);
    if (read === undefined) throw new FatalError(`${topic}/${partition} does not hold the wanted offset ${at}`);
    const { records, nextOffset } = read;
    if (nextOffset > at) {
      at = nextOffset < end ? nextOffset : end;
      yield { records: records.filter(({ offset }) => offset < end), nextOffset: at };
      deadline = deadlineIn(PIECE_TIMEOUT_MS);
    } else if (deadline.passed()) throw unavailable(`nothing is committed in ${topic}/${partition} from ${at} on`);
    else await pause(RETRY_PAUSE_MS);
  }
}

/** Reads the newest committed records of one partition; see `Log.readLastRecords`. */
export async function readLastRecords(cluster: Cluster, place: TopicPartition): Promise<readonly StoredRecord[]> {
  const first = await offsetAt(cluster, place, EARLIEST);
  const end = await offsetAt(cluster, place, LATEST);
  for (let reach = REACH; ; reach *= REACH) {
    const from: bigint = end > first + reach ? end - reach : first;
    let last: readonly StoredRecord[] = [];
    for await (const { records } of readRange(cluster, place, from, end))
      last = [...last, ...records].slice(-LAST_RECORDS_MAX);
    if (last.length > 0 || from === first || reach >= REACH_MAX) return last;
  }
}

/** Reads single records of one partition; see `Log.readRecords`. */
export async function readRecords(
  cluster: Cluster,
  place: TopicPartition,
  offsets: readonly bigint[],
): Promise<ReadonlyMap<bigint, StoredRecord>> {
  const deadline = deadlineIn(SINGLE_RECORDS_TIMEOUT_MS);
  const wanted = new Set(offsets);
  const found = new Map<bigint, StoredRecord>();
  for (const offset of [...wanted].sort((a, b) => (a < b ? -1 : 1))) {
    // A fetch brings whole batches, with records that are wanted later.
    if (found.has(offset)) continue;
    const read = await readBatches(cluster, place, offset, deadline, SINGLE_RECORDS_BYTES);
    for (const record of read?.records ?? []) if (wanted.has(record.offset)) found.set(record.offset, record);
  }
  return found;
}

async function offsetAt(cluster: Cluster, { topic, partition }: TopicPartition, moment: bigint): Promise<bigint> {
  const offset = (await readOffsets(cluster, topic, moment, PIECE_TIMEOUT_MS))[partition];
  if (offset === undefined) throw unavailable(`${topic} has no partition ${partition}`);
  return offset;
}

/**
 * Fetches the committed records of a partition from an offset on. Undefined if the log does not hold the offset. A
 * batch that cannot be decoded is fetched a second time, then skipped. `nextOffset` does not move while a transaction
 * is open there, because what follows is not committed. Throws LogUnavailable after the deadline.
 * @param bytesMax a larger first batch comes whole
 */
function readBatches(
  cluster: Cluster,
  { topic, partition }: TopicPartition,
  from: bigint,
  deadline: Deadline,
  bytesMax: number,
): Promise<RecordPiece | undefined> {
  return retryRead(cluster, topic, deadline, async () => {
    for (let isLast = false; ; isLast = true) {
      const leader = await cluster.leaderOf(topic, partition, deadline);
      const [fetched] = await fetchOnce(leader, topic, [{ partition, from }], 0, deadline, bytesMax);
      if (fetched === undefined) throw unavailable(`a fetch of ${topic}/${partition} was answered without it`);
      if (nameOfCode(fetched.errorCode) === 'OFFSET_OUT_OF_RANGE') return undefined;
      assertAccepted(`fetching ${topic}/${partition}`, fetched.errorCode);
      const { records, nextOffset } = decodeBatches(topic, fetched, from, 'utf8');
      if (records[0]?.unreadable === undefined) return { records, nextOffset };
      if (isLast) return { records: [], nextOffset };
    }
  });
}
