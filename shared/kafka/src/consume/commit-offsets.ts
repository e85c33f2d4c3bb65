import { offsetCommitV8 } from '@platformatic/kafka';
import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';

const TIMEOUT_MS = 5_000;
/** The generation and the member id of a group without members. */
const NO_MEMBER = [-1, ''] as const;

/** Commits positions under the name of a group, for tools that show a group's lag. Nothing ever reads them here. */
export async function commitOffsets(
  cluster: Cluster,
  groupId: string,
  topic: string,
  positions: ReadonlyMap<number, bigint>,
): Promise<void> {
  const deadline = deadlineIn(TIMEOUT_MS);
  const partitions = Array.from(positions, ([partitionIndex, committedOffset]) => {
    return { partitionIndex, committedOffset, committedLeaderEpoch: -1 };
  });
  try {
    const coordinator = await cluster.coordinatorOf('GROUP', groupId, deadline);
    const topics = [{ name: topic, partitions }];
    await coordinator.call(offsetCommitV8.api, deadline, groupId, ...NO_MEMBER, null, topics);
  } catch (error) {
    cluster.forgetCoordinator(groupId);
    throw error;
  }
}
