import { FetchIsolationLevels, ListOffsetTimestamps, listOffsetsV6 } from '@platformatic/kafka';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil, within } from '../cluster/deadline.js';
import { assertAccepted } from '../cluster/error-codes.js';
import { singleFlight } from '../cluster/single-flight.js';
import { LogUnavailable, unavailable } from '../failures.js';

const SHARED_TIMEOUT_MS = 5_000;
const ATTEMPT_MS_MAX = 2_000;
const RETRY_PAUSE_MS = 20;

/**
 * Reads the high watermarks of topics, always fresh: an answer was asked for after the call began (see single-flight).
 * One request is one ListOffsets to each leader over a connection kept for it.
 */
export function endOffsetReader(cluster: Cluster) {
  const read = singleFlight((topic) =>
    listOffsets(cluster, topic, ListOffsetTimestamps.LATEST, deadlineIn(SHARED_TIMEOUT_MS)),
  );
  return (topic: string, timeoutMs: number): Promise<readonly bigint[]> =>
    within(deadlineIn(timeoutMs), read(topic), () =>
      unavailable(`the end offsets of ${topic} were not answered within ${timeoutMs} ms`),
    );
}

/** The first offsets that are still stored, by partition. */
export function readStartOffsets(cluster: Cluster, topic: string, deadline: Deadline): Promise<readonly bigint[]> {
  return listOffsets(cluster, topic, ListOffsetTimestamps.EARLIEST, deadline);
}

function listOffsets(
  cluster: Cluster,
  topic: string,
  timestamp: bigint,
  deadline: Deadline,
): Promise<readonly bigint[]> {
  const list = () =>
    listOnce(cluster, topic, timestamp, deadline).catch((error: unknown) => {
      cluster.forgetLayout(topic);
      throw error instanceof LogUnavailable ? error : unavailable(`the offsets of ${topic} could not be read`, error);
    });
  return retryUntil(deadline, RETRY_PAUSE_MS, list);
}

async function listOnce(
  cluster: Cluster,
  topic: string,
  timestamp: bigint,
  deadline: Deadline,
): Promise<readonly bigint[]> {
  const layout = await cluster.layoutOf(topic, deadline);
  const offsets = new Array<bigint>(layout.length).fill(0n);
  const byLeader = Map.groupBy(layout.keys(), (partition) => layout[partition] ?? -1);
  await Promise.all(
    Array.from(byLeader, async ([leader, led]) => {
      const partitions = led.map((partitionIndex) => ({ partitionIndex, currentLeaderEpoch: -1, timestamp }));
      const attempt = deadline.sooner(deadlineIn(ATTEMPT_MS_MAX));
      const { READ_UNCOMMITTED } = FetchIsolationLevels;
      const topics = [{ name: topic, partitions }];
      const answer = await cluster.broker(leader).call(listOffsetsV6.api, attempt, -1, READ_UNCOMMITTED, topics);
      for (const { partitionIndex, errorCode, offset } of answer.topics.flatMap((listed) => listed.partitions)) {
        assertAccepted(`the offset of ${topic}/${partitionIndex}`, errorCode);
        offsets[partitionIndex] = offset;
      }
    }),
  );
  return offsets;
}
