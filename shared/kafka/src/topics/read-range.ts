import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn, pause } from '../cluster/deadline.js';
import { FatalError, unavailable } from '../failures.js';
import type { RecordPiece, TopicPartition } from '../log.js';
import { RETRY_PAUSE_MS, readBatches } from './read-batches.js';
import { EARLIEST, LATEST, readOffsets } from './read-offsets.js';

const PIECE_BYTES = 256 * 1024;
const PIECE_TIMEOUT_MS = 10_000;

/** Reads a part of one partition; see `Log.readRange`. */
export async function* readRange(
  cluster: Cluster,
  place: TopicPartition,
  from?: bigint,
  to?: bigint,
): AsyncGenerator<RecordPiece> {
  const { topic, partition } = place;
  const offsetAt = async (moment: bigint) =>
    (await readOffsets(cluster, topic, moment, PIECE_TIMEOUT_MS))[partition] ?? 0n;
  let at = from ?? (await offsetAt(EARLIEST));
  const end: bigint = to ?? (await offsetAt(LATEST));
  for (let deadline = deadlineIn(PIECE_TIMEOUT_MS); at < end; ) {
    const read = await readBatches(cluster, place, at, deadline, PIECE_BYTES);
    if (read === undefined) throw new FatalError(`${topic}/${partition} does not hold offset ${at}, which is wanted`);
    const { records, nextOffset } = read;
    if (nextOffset > at) {
      at = nextOffset < end ? nextOffset : end;
      yield { records: records.filter(({ offset }) => offset < end), nextOffset: at };
      deadline = deadlineIn(PIECE_TIMEOUT_MS);
    } else if (deadline.passed()) throw unavailable(`nothing is committed in ${topic}/${partition} from ${at} on`);
    else await pause(RETRY_PAUSE_MS);
  }
}
