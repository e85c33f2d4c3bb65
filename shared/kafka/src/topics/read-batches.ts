import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, retryUntil } from '../cluster/deadline.js';
import { assertAccepted, KafkaRefused, nameOfCode } from '../cluster/error-codes.js';
import { decodeBatches } from '../consume/decode-batches.js';
import { fetchOnce } from '../consume/fetch-request.js';
import { LogUnavailable, unavailable } from '../failures.js';
import type { RecordPiece, TopicPartition } from '../log.js';

export const RETRY_PAUSE_MS = 20;

/**
 * Fetches what is committed in a partition from an offset on; undefined where the log does not hold the offset. A batch that
 * cannot be decoded is fetched a second time, and then passed over. The next offset is the same where a transaction has not ended
 * yet: what follows is not committed. Throws LogUnavailable after the deadline.
 * @param bytesMax a larger first batch comes whole
 */
export function readBatches(
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

/** Reads, and tries again until the deadline while Kafka refuses or does not answer. Throws LogUnavailable. */
export function retryRead<T>(cluster: Cluster, topic: string, deadline: Deadline, read: () => Promise<T>): Promise<T> {
  const attempt = () =>
    read().catch((error: unknown) => {
      cluster.forgetLayout(topic);
      throw error instanceof KafkaRefused ? unavailable(error.message, error) : error;
    });
  return retryUntil(deadline, RETRY_PAUSE_MS, attempt, (error) => error instanceof LogUnavailable);
}
