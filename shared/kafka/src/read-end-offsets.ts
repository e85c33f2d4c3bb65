import { LogUnavailable } from './failures.js';
import { type Connections, unavailable } from './reach-brokers.js';
import { shareAsking } from './share-asking.js';
import { codes, KafkaRefused } from './speak-kafka.js';
import { type Deadline, deadlineIn, pause, within } from './wait.js';

const LATEST = -1;
const EARLIEST = -2;
const READ_UNCOMMITTED = 0;
const SHARED_TIMEOUT_MS = 5_000;

interface ListedOffsets {
  readonly responses: readonly {
    readonly partitions: readonly { readonly partition: number; readonly errorCode: number; readonly offset: string }[];
  }[];
}

/**
 * High watermarks of topics, always fresh: an answer was asked for after the call began (see share-asking).
 * One request is one ListOffsets to each leader over a connection kept for it; the topic's layout is kept too.
 */
export function endOffsetReader(connections: Connections) {
  const fresh = shareAsking((topic) => listOffsets(connections, topic, LATEST, deadlineIn(SHARED_TIMEOUT_MS)));
  return (topic: string, timeoutMs: number): Promise<readonly bigint[]> =>
    within(deadlineIn(timeoutMs), fresh(topic), () =>
      unavailable(`the end offsets of ${topic} were not answered within ${timeoutMs} ms`),
    );
}

/** The first offsets that are still stored, by partition. */
export function readStartOffsets(
  connections: Connections,
  topic: string,
  deadline: Deadline,
): Promise<readonly bigint[]> {
  return listOffsets(connections, topic, EARLIEST, deadline);
}

async function listOffsets(
  connections: Connections,
  topic: string,
  timestamp: number,
  deadline: Deadline,
): Promise<readonly bigint[]> {
  for (;;) {
    try {
      return await listOnce(connections, topic, timestamp, deadline);
    } catch (error) {
      connections.forgetLayout(topic);
      if (deadline.leftMs() < 20) {
        throw error instanceof LogUnavailable ? error : unavailable(`the offsets of ${topic} could not be read`, error);
      }
      await pause(20);
    }
  }
}

async function listOnce(
  connections: Connections,
  topic: string,
  timestamp: number,
  deadline: Deadline,
): Promise<readonly bigint[]> {
  const leaders = await connections.layoutOf(topic, deadline);
  const byLeader = new Map<number, { partition: number; timestamp: number }[]>();
  leaders.forEach((leader, partition) => {
    const asked = byLeader.get(leader) ?? [];
    asked.push({ partition, timestamp });
    byLeader.set(leader, asked);
  });
  const offsets = new Array<bigint>(leaders.length).fill(0n);
  await Promise.all(
    Array.from(byLeader, async ([leader, partitions]) => {
      const answer = await connections
        .node(leader)
        .call<ListedOffsets>(
          'ListOffsets',
          { replicaId: -1, isolationLevel: READ_UNCOMMITTED, topics: [{ topic, partitions }] },
          deadline.sooner(deadlineIn(2_000)),
        );
      for (const { partition, errorCode, offset } of answer.responses.flatMap((response) => response.partitions)) {
        if (errorCode !== codes.none) {
          throw new KafkaRefused(`the offset of ${topic}/${partition}`, errorCode);
        }
        offsets[partition] = BigInt(offset);
      }
    }),
  );
  return offsets;
}
