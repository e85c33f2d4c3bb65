import { FetchIsolationLevels, ListOffsetTimestamps, listOffsetsV6 } from '@platformatic/kafka';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil, within } from '../cluster/deadline.js';
import { assertAccepted } from '../cluster/error-codes.js';
import { singleFlight } from '../cluster/single-flight.js';
import { LogUnavailable, unavailable } from '../failures.js';

const SHARED_TIMEOUT_MS = 5_000;
const ATTEMPT_MS_MAX = 2_000;
const RETRY_PAUSE_MS = 20;

/** An offset of each partition of a topic. */
export type ReadOffsets = (topic: string, timeoutMs: number) => Promise<readonly bigint[]>;

/**
 * Reads the first offsets that are still stored, or the high watermarks, always fresh: an answer was asked for after the
 * call began (see single-flight). One request is one ListOffsets to each leader over a connection kept for it.
 */
export function offsetReader(cluster: Cluster, which: 'EARLIEST' | 'LATEST'): ReadOffsets {
  const read = singleFlight((topic) =>
    list(cluster, topic, ListOffsetTimestamps[which], deadlineIn(SHARED_TIMEOUT_MS)),
  );
  return (topic, timeoutMs) => {
    const deadline = deadlineIn(timeoutMs);
    const late = () => unavailable(`the offsets of ${topic} were not answered within ${timeoutMs} ms`);
    return retryUntil(deadline, RETRY_PAUSE_MS, () => within(deadline, read(topic), late));
  };
}

/** The offsets by time: see `Log.offsetsAt`. One answer that fails is asked for again. */
export async function readOffsetsAt(
  cluster: Cluster,
  topic: string,
  timestampMs: number,
  timeoutMs: number,
): Promise<readonly (bigint | undefined)[]> {
  const deadline = deadlineIn(timeoutMs);
  const read = () => list(cluster, topic, BigInt(timestampMs), deadline);
  const offsets = await retryUntil(deadline, RETRY_PAUSE_MS, read);
  return offsets.map((offset) => (offset < 0n ? undefined : offset));
}

function list(cluster: Cluster, topic: string, timestamp: bigint, deadline: Deadline): Promise<readonly bigint[]> {
  return listOnce(cluster, topic, timestamp, deadline).catch((error: unknown) => {
    cluster.forgetLayout(topic);
    throw error instanceof LogUnavailable ? error : unavailable(`the offsets of ${topic} could not be read`, error);
  });
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
