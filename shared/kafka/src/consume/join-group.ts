import {
  decodeConsumerProtocolAssignment,
  encodeConsumerProtocolAssignment,
  encodeConsumerProtocolSubscription,
  heartbeatV4,
  joinGroupV7,
  leaveGroupV4,
  offsetCommitV8,
  syncGroupV5,
} from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, pause, settledWithin } from '../cluster/deadline.js';
import { assertAccepted, coordinatorMoved, KafkaRefused, nameOfCode } from '../cluster/error-codes.js';
import type { Logger } from '../log.js';

/** The name and the sharing out of the members that ran before this library, so that both can be in one group. */
const PROTOCOL = 'RoundRobinAssigner';
/** Under 10 s, so that the partitions of a killed consumer move on soon. */
const SESSION_TIMEOUT_MS = 8_000;
export const REBALANCE_TIMEOUT_MS = 15_000;
const HEARTBEAT_INTERVAL_MS = 1_000;
/** Under half of a session, so that a coordinator that hangs leaves time for another try. */
const HEARTBEAT_TIMEOUT_MS = 3_000;
const CALL_TIMEOUT_MS = 5_000;
const LEAVE_TIMEOUT_MS = 1_000;
const RETRY_PAUSE_MS = 200;

export interface GroupOptions {
  readonly cluster: Cluster;
  readonly groupId: string;
  readonly topic: string;
  readonly logger: Logger;
  /** These partitions are this member's. */
  readonly onAssigned: (partitions: readonly number[]) => void;
  /**
   * Finish what is under way: the partitions go to their next owner. Heartbeats go on meanwhile. `isLost`: they may have
   * gone already.
   */
  readonly onRevoked: (isLost: boolean) => Promise<void>;
}

/**
 * Membership in a consumer group (the classic protocol): join, share out, heartbeat in the background whatever the
 * handlers do, and give the partitions back in order when others come or go. It never ends by itself: whatever fails is
 * tried again until `leave()`. A generation ends when the coordinator says so. A member that no coordinator answers keeps
 * its partitions: where the coordinator died, the next one gives each member a whole session to find it.
 */
export class GroupMember {
  readonly #options: GroupOptions;
  readonly #leaving = new AbortController();
  readonly #membership: Promise<void>;
  #memberId = '';
  #generationId: number | undefined;
  #lastHeartbeatAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#membership = this.#stayMember();
  }

  lastHeartbeatAtMs(): number {
    return this.#lastHeartbeatAtMs;
  }

  /** Whether a coordinator has answered within a session; else the partitions may be another member's by now. */
  isConfirmed(): boolean {
    return performance.now() - this.#lastHeartbeatAtMs < SESSION_TIMEOUT_MS;
  }

  /** Commits positions for those who look at the group's lag. Does nothing outside of a generation. */
  async commit(positions: ReadonlyMap<number, bigint>): Promise<void> {
    const { groupId, topic } = this.#options;
    const id = this.#generationId;
    if (id === undefined || positions.size === 0) {
      return;
    }
    const partitions = Array.from(positions, ([partitionIndex, committedOffset]) => ({
      partitionIndex,
      committedOffset,
      committedLeaderEpoch: -1,
    }));
    const topics = [{ name: topic, partitions }];
    await this.#ask(deadlineIn(CALL_TIMEOUT_MS), (coordinator, deadline) =>
      coordinator.call(offsetCommitV8.api, deadline, groupId, id, this.#memberId, null, topics),
    );
  }

  async leave(): Promise<void> {
    const { cluster, groupId } = this.#options;
    this.#leaving.abort();
    if (this.#generationId === undefined) {
      // A join can wait long for other members; nothing of ours is under way.
      cluster.interrupt();
    }
    await this.#membership;
    if (this.#memberId !== '') {
      const members = [{ memberId: this.#memberId }];
      await this.#ask(deadlineIn(LEAVE_TIMEOUT_MS), (coordinator, deadline) =>
        coordinator.call(leaveGroupV4.api, deadline, groupId, members),
      ).catch(() => undefined);
    }
    cluster.close();
  }

  /** Asks the group's coordinator; where it does not answer or is another broker now, the next call looks for it. */
  async #ask<R>(deadline: Deadline, request: (coordinator: Broker, deadline: Deadline) => Promise<R>): Promise<R> {
    const { cluster, groupId } = this.#options;
    try {
      const soon = deadline.sooner(deadlineIn(CALL_TIMEOUT_MS));
      return await request(await cluster.coordinatorOf('GROUP', groupId, soon), deadline);
    } catch (error) {
      if (hasMoved(error)) {
        cluster.forgetCoordinator(groupId);
      }
      throw error;
    }
  }

  async #stayMember(): Promise<void> {
    const { groupId, logger } = this.#options;
    while (!this.#leaving.signal.aborted) {
      try {
        await this.#oneGeneration();
      } catch (error) {
        if (error instanceof KafkaRefused && error.reason === 'UNKNOWN_MEMBER_ID') {
          this.#memberId = '';
        }
        logger.warn({ groupId, error: (error as Error).message }, 'not a member of the group, joining again');
        await pause(RETRY_PAUSE_MS, this.#leaving.signal);
      }
    }
  }

  async #oneGeneration(): Promise<void> {
    const { groupId, logger, onAssigned } = this.#options;
    const joined = await this.#join();
    const partitions = await this.#sync(joined);
    if (this.#leaving.signal.aborted) {
      return;
    }
    const { generationId } = joined;
    this.#generationId = generationId;
    this.#lastHeartbeatAtMs = performance.now();
    logger.info({ groupId, generation: generationId, partitions }, 'partitions were assigned');
    onAssigned(partitions);
    let isLost = true;
    try {
      await this.#heartbeats(generationId);
      isLost = false;
    } finally {
      await this.#giveBack(generationId, isLost);
      this.#generationId = undefined;
    }
  }

  #join(): Promise<joinGroupV7.JoinGroupResponse> {
    const { groupId, topic } = this.#options;
    const metadata = encodeConsumerProtocolSubscription({ version: 0, topics: [topic] });
    const protocols = [{ name: PROTOCOL, metadata }];
    return this.#ask(deadlineIn(REBALANCE_TIMEOUT_MS + CALL_TIMEOUT_MS), async (coordinator, deadline) => {
      for (;;) {
        const member = [groupId, SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS, this.#memberId, null] as const;
        const joined = await coordinator.call(joinGroupV7.api, deadline, ...member, 'consumer', protocols);
        if (nameOfCode(joined.errorCode) !== 'MEMBER_ID_REQUIRED') {
          assertAccepted('joining the group', joined.errorCode);
          this.#memberId = joined.memberId;
          return joined;
        }
        this.#memberId = joined.memberId;
      }
    });
  }

  /** The partitions of this member in the new generation. */
  async #sync({ generationId, leader, members }: joinGroupV7.JoinGroupResponse): Promise<readonly number[]> {
    const { groupId, topic } = this.#options;
    const shares = leader === this.#memberId ? await this.#shareOut(members) : [];
    const member = [groupId, generationId, this.#memberId, null, 'consumer', PROTOCOL] as const;
    return this.#ask(deadlineIn(REBALANCE_TIMEOUT_MS + CALL_TIMEOUT_MS), async (coordinator, deadline) => {
      const synced = await coordinator.call(syncGroupV5.api, deadline, ...member, shares);
      assertAccepted('syncing with the group', synced.errorCode);
      const { assignedPartitions } = decodeConsumerProtocolAssignment(synced.assignment);
      return assignedPartitions.find((assigned) => assigned.topic === topic)?.partitions ?? [];
    });
  }

  /** The group's leader shares out: each member every n-th partition. */
  async #shareOut(members: joinGroupV7.JoinGroupResponseMember[]): Promise<{ memberId: string; assignment: Buffer }[]> {
    const { cluster, topic } = this.#options;
    cluster.forgetLayout(topic);
    const layout = await cluster.layoutOf(topic, deadlineIn(CALL_TIMEOUT_MS));
    const ids = members.map(({ memberId }) => memberId).sort();
    return ids.map((memberId, index) => {
      const partitions = [...layout.keys()].filter((partition) => partition % ids.length === index);
      const assignedPartitions = [{ topic, partitions }];
      return { memberId, assignment: encodeConsumerProtocolAssignment({ version: 0, assignedPartitions }) };
    });
  }

  /** Until the generation ends in good order; throws when the partitions may already belong to others. */
  async #heartbeats(generationId: number): Promise<void> {
    const { groupId, logger } = this.#options;
    for (;;) {
      await pause(HEARTBEAT_INTERVAL_MS, this.#leaving.signal);
      if (this.#leaving.signal.aborted) {
        return;
      }
      try {
        await this.#heartbeat(generationId, deadlineIn(HEARTBEAT_TIMEOUT_MS));
        this.#lastHeartbeatAtMs = performance.now();
      } catch (error) {
        if (error instanceof KafkaRefused && error.reason === 'REBALANCE_IN_PROGRESS') {
          return;
        }
        if (!hasMoved(error)) {
          throw error;
        }
        logger.warn({ groupId, error: (error as Error).message }, 'a heartbeat was not answered');
      }
    }
  }

  #heartbeat(generationId: number, within: Deadline): Promise<void> {
    const { groupId } = this.#options;
    return this.#ask(within, async (coordinator, deadline) => {
      const { errorCode } = await coordinator.call(heartbeatV4.api, deadline, groupId, generationId, this.#memberId);
      assertAccepted('a heartbeat', errorCode);
    });
  }

  /** Lets handlers finish, with heartbeats so that the member is not dropped meanwhile. */
  async #giveBack(generationId: number, isLost: boolean): Promise<void> {
    const finished = this.#options.onRevoked(isLost);
    while (!(await settledWithin(HEARTBEAT_INTERVAL_MS, finished))) {
      await this.#heartbeat(generationId, deadlineIn(HEARTBEAT_INTERVAL_MS)).catch(() => undefined);
    }
    await finished;
  }
}

/** The coordinator did not answer, or is another broker now. */
function hasMoved(error: unknown): boolean {
  return !(error instanceof KafkaRefused) || coordinatorMoved.has(error.reason);
}
