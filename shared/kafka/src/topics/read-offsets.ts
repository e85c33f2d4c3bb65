import { FetchIsolationLevels, ListOffsetTimestamps, listOffsetsV6 } from '@platformatic/kafka';
import { type Cluster, NO_NODE } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
import { KafkaRefused } from '../cluster/error-codes.js';
import { LogUnavailable, unavailable } from '../failures.js';

const ATTEMPT_MS_MAX = 2_000;
const { READ_UNCOMMITTED } = FetchIsolationLevels;
/** Use instead of timestamps, to ask for the first stored offset and for the high watermark. */
export const { EARLIEST, LATEST } = ListOffsetTimestamps;

/**
 * For each partition, the first offset whose record is not older than the timestamp, -1 if there is none. Throws
 * LogUnavailable after `timeoutMs`.
 */
export function readOffsets(
  cluster: Cluster,
  topic: string,
  timestamp: bigint,
  timeoutMs: number,
): Promise<readonly bigint[]> {
  const deadline = deadlineIn(timeoutMs);
  return retryRead(cluster, topic, deadline, async () => {
    const layout = await cluster.layoutOf(topic, deadline);
    const offsets = new Array<bigint>(layout.length).fill(0n);
    const byLeader = Map.groupBy(layout.keys(), (partition) => layout[partition] ?? NO_NODE);
    await Promise.all(
      Array.from(byLeader, async ([leader, led]) => {
        const partitions = led.map((partitionIndex) => ({ partitionIndex, currentLeaderEpoch: -1, timestamp }));
        const topics = [{ name: topic, partitions }];
        const attempt = deadline.sooner(deadlineIn(ATTEMPT_MS_MAX));
        const answer = await cluster.broker(leader).call(listOffsetsV6.api, attempt, -1, READ_UNCOMMITTED, topics);
        for (const { partitionIndex, offset } of answer.topics.flatMap((listed) => listed.partitions)) {
          offsets[partitionIndex] = offset;
        }
      }),
    );
    return offsets;
  });
}

/** Reads, and tries again until the deadline while Kafka refuses or does not answer. Throws LogUnavailable. */
export function retryRead<T>(cluster: Cluster, topic: string, deadline: Deadline, read: () => Promise<T>): Promise<T> {
  const attempt = () =>
    read().catch((error: unknown) => {
      cluster.forgetLayout(topic);
      throw error instanceof KafkaRefused ? unavailable(error.message, error) : error;
    });
  return retryUntil(deadline, attempt, (error) => error instanceof LogUnavailable);
}
