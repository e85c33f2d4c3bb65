import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { isRefused } from '../cluster/error-codes.js';
import { FatalError, unavailable } from '../failures.js';
import type { RecordPiece, TopicPartition } from '../log.js';
import { notStored, readBatches, retryRead } from './read-batches.js';
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
  while (at < end) {
    const deadline = deadlineIn(PIECE_TIMEOUT_MS);
    const { records, nextOffset } = await retryRead(cluster, topic, deadline, async () => {
      try {
        const read = await readBatches(cluster, place, at, deadline, PIECE_BYTES);
        if (read.nextOffset > at) return read;
      } catch (error) {
        if (!isRefused(error, notStored)) throw error;
        throw new FatalError(`${topic}/${partition} does not hold offset ${at}, which is wanted`);
      }
      throw unavailable(`nothing is committed in ${topic}/${partition} from ${at} on`);
    });
    at = nextOffset < end ? nextOffset : end;
    yield { records: records.filter(({ offset }) => offset < end), nextOffset: at };
  }
}
