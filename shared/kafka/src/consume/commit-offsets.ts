import { offsetCommitV8 } from '@platformatic/kafka';
import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { assertAccepted, NO_ERROR } from '../cluster/error-codes.js';

const TIMEOUT_MS = 5_000;
/** Of a group without members. */
const NO_GENERATION = -1;
const NO_MEMBER = '';

/** Commits positions under the name of a group, for tools that show a group's lag. Nothing is ever read from there. */
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
    const { api } = offsetCommitV8;
    const answer = await coordinator.call(api, deadline, groupId, NO_GENERATION, NO_MEMBER, null, topics);
    const codes = answer.topics.flatMap((committed) => committed.partitions.map(({ errorCode }) => errorCode));
    assertAccepted(`committing offsets of ${groupId}`, codes.find((code) => code !== NO_ERROR) ?? NO_ERROR);
  } catch (error) {
    cluster.forgetCoordinator(groupId);
    throw error;
  }
}
