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
import { deadlineIn, pause, settledWithin } from '../cluster/deadline.js';
import { assertAccepted, coordinatorMoved, KafkaRefused, nameOfCode } from '../cluster/error-codes.js';
import type { Logger } from '../log.js';

/** The name and the sharing out of the members that ran before this library, so that both can be in one group. */
const PROTOCOL = 'RoundRobinAssigner';
/** Under 10 s, so that the partitions of a killed consumer move on soon. */
const SESSION_TIMEOUT_MS = 8_000;
export const REBALANCE_TIMEOUT_MS = 15_000;
const CALL_TIMEOUT_MS = 5_000;
const LEAVE_TIMEOUT_MS = 1_000;
const RETRY_PAUSE_MS = 200;

export interface GroupOptions {
  readonly cluster: Cluster;
  readonly groupId: string;
  readonly topic: string;
  readonly heartbeatIntervalMs: number;
  readonly logger: Logger;
  readonly now: () => number;
  /** These partitions are this member's. Heartbeats go on meanwhile. */
  readonly onAssigned: (partitions: readonly number[]) => Promise<void>;
  /** Finish what is under way: the partitions go to their next owner. `isLost`: they may have gone already. */
  readonly onRevoked: (isLost: boolean) => Promise<void>;
}

interface Generation {
  readonly id: number;
  coordinator: Broker;
}

/**
 * Membership in a consumer group (the classic protocol): join, share out, heartbeat in the background whatever the
 * handlers do, and give the partitions back in order when others come or go. It never ends by itself: whatever fails is
 * tried again until `leave()`.
 */
export class GroupMember {
  readonly #options: GroupOptions;
  readonly #leaving = new AbortController();
  readonly #membership: Promise<void>;
  #memberId = '';
  #generation: Generation | undefined;
  #lastHeartbeatAtMs = 0;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#membership = this.#stayMember();
  }

  lastHeartbeatAtMs(): number {
    return this.#lastHeartbeatAtMs;
  }

  /** Commits positions for those who look at the group's lag. Does nothing outside of a generation. */
  async commit(positions: ReadonlyMap<number, bigint>): Promise<void> {
    const { groupId, topic } = this.#options;
    if (this.#generation === undefined || positions.size === 0) {
      return;
    }
    const { id, coordinator } = this.#generation;
    const partitions = Array.from(positions, ([partitionIndex, committedOffset]) => ({
      partitionIndex,
      committedOffset,
      committedLeaderEpoch: -1,
    }));
    const topics = [{ name: topic, partitions }];
    await coordinator.call(offsetCommitV8.api, deadlineIn(CALL_TIMEOUT_MS), groupId, id, this.#memberId, null, topics);
  }

  async leave(): Promise<void> {
    const { cluster, groupId } = this.#options;
    this.#leaving.abort();
    if (this.#generation === undefined) {
      // A join can wait long for other members; nothing of ours is under way.
      cluster.interrupt();
    }
    await this.#membership;
    if (this.#memberId !== '') {
      const members = [{ memberId: this.#memberId }];
      await cluster
        .coordinatorOf('GROUP', groupId, deadlineIn(LEAVE_TIMEOUT_MS))
        .then((broker) => broker.call(leaveGroupV4.api, deadlineIn(LEAVE_TIMEOUT_MS), groupId, members))
        .catch(() => undefined);
    }
    cluster.close();
  }

  async #stayMember(): Promise<void> {
    const { groupId, logger } = this.#options;
    while (!this.#leaving.signal.aborted) {
      try {
        await this.#oneGeneration();
      } catch (error) {
        this.#learnFrom(error);
        logger.warn({ groupId, error: (error as Error).message }, 'joining the group failed, trying again');
        await pause(RETRY_PAUSE_MS, this.#leaving.signal);
      }
    }
  }

  async #oneGeneration(): Promise<void> {
    const { cluster, groupId, logger, onAssigned } = this.#options;
    const coordinator = await cluster.coordinatorOf('GROUP', groupId, deadlineIn(CALL_TIMEOUT_MS));
    const joined = await this.#join(coordinator);
    const partitions = await this.#sync(coordinator, joined);
    if (this.#leaving.signal.aborted) {
      return;
    }
    this.#lastHeartbeatAtMs = this.#options.now();
    const generation = { id: joined.generationId, coordinator };
    this.#generation = generation;
    logger.info({ groupId, generation: generation.id, partitions }, 'partitions were assigned');
    const assigned = onAssigned(partitions);
    assigned.catch(() => undefined);
    let isLost = true;
    try {
      isLost = await this.#heartbeats(generation);
    } finally {
      await this.#giveBack(generation, assigned, isLost);
      this.#generation = undefined;
    }
  }

  async #join(coordinator: Broker): Promise<joinGroupV7.JoinGroupResponse> {
    const { groupId, topic } = this.#options;
    const protocols = [
      { name: PROTOCOL, metadata: encodeConsumerProtocolSubscription({ version: 0, topics: [topic] }) },
    ];
    for (;;) {
      const deadline = deadlineIn(REBALANCE_TIMEOUT_MS + CALL_TIMEOUT_MS);
      const member = [groupId, SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS, this.#memberId, null] as const;
      const joined = await coordinator.call(joinGroupV7.api, deadline, ...member, 'consumer', protocols);
      if (nameOfCode(joined.errorCode) !== 'MEMBER_ID_REQUIRED') {
        assertAccepted('joining the group', joined.errorCode);
        this.#memberId = joined.memberId;
        return joined;
      }
      this.#memberId = joined.memberId;
    }
  }

  /** The partitions of this member in the new generation. */
  async #sync(
    coordinator: Broker,
    { generationId, leader, members }: joinGroupV7.JoinGroupResponse,
  ): Promise<readonly number[]> {
    const { groupId, topic } = this.#options;
    const shares = leader === this.#memberId ? await this.#shareOut(members) : [];
    const deadline = deadlineIn(REBALANCE_TIMEOUT_MS + CALL_TIMEOUT_MS);
    const member = [groupId, generationId, this.#memberId, null, 'consumer', PROTOCOL] as const;
    const synced = await coordinator.call(syncGroupV5.api, deadline, ...member, shares);
    assertAccepted('syncing with the group', synced.errorCode);
    const { assignedPartitions } = decodeConsumerProtocolAssignment(synced.assignment);
    return assignedPartitions.find((assigned) => assigned.topic === topic)?.partitions ?? [];
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

  /** Until the generation ends; true when the partitions may already belong to others. */
  async #heartbeats(generation: Generation): Promise<boolean> {
    const { groupId, logger, now, heartbeatIntervalMs } = this.#options;
    for (;;) {
      await pause(heartbeatIntervalMs, this.#leaving.signal);
      if (this.#leaving.signal.aborted) {
        return false;
      }
      const reason = await this.#heartbeat(generation).catch((error: Error) => {
        logger.warn({ groupId, error: error.message }, 'a heartbeat was not answered');
        return undefined;
      });
      if (reason === 'NONE') {
        this.#lastHeartbeatAtMs = now();
      } else if (reason === 'REBALANCE_IN_PROGRESS') {
        return false;
      } else if (reason === undefined || coordinatorMoved.has(reason)) {
        await this.#findCoordinator(generation);
      } else {
        const refused = new KafkaRefused('a heartbeat', reason);
        this.#learnFrom(refused);
        if (reason !== 'UNKNOWN_MEMBER_ID' && reason !== 'ILLEGAL_GENERATION') {
          throw refused;
        }
        return true;
      }
      if (now() - this.#lastHeartbeatAtMs > SESSION_TIMEOUT_MS) {
        logger.warn({ groupId }, 'the session with the group has ended unanswered');
        return true;
      }
    }
  }

  async #findCoordinator(generation: Generation): Promise<void> {
    const { cluster, groupId, heartbeatIntervalMs } = this.#options;
    cluster.forgetCoordinator(groupId);
    const deadline = deadlineIn(Math.max(1_000, heartbeatIntervalMs));
    generation.coordinator = await cluster
      .coordinatorOf('GROUP', groupId, deadline)
      .catch(() => generation.coordinator);
  }

  /** The protocol's name of what the coordinator answered. */
  async #heartbeat({ id, coordinator }: Generation): Promise<string> {
    const { groupId, heartbeatIntervalMs } = this.#options;
    const deadline = deadlineIn(Math.max(1_000, heartbeatIntervalMs));
    const answer = await coordinator.call(heartbeatV4.api, deadline, groupId, id, this.#memberId);
    return nameOfCode(answer.errorCode);
  }

  /** Lets handlers finish, with heartbeats so that the member is not dropped meanwhile. */
  async #giveBack(generation: Generation, assigned: Promise<void>, isLost: boolean): Promise<void> {
    const { heartbeatIntervalMs, onRevoked } = this.#options;
    const finished = assigned.catch(() => undefined).then(() => onRevoked(isLost));
    while (!(await settledWithin(heartbeatIntervalMs, finished))) {
      await this.#heartbeat(generation).catch(() => undefined);
    }
    await finished;
  }

  /** What an error means for the next attempt to join. */
  #learnFrom(error: unknown): void {
    const reason = error instanceof KafkaRefused ? error.reason : undefined;
    if (reason === 'UNKNOWN_MEMBER_ID') {
      this.#memberId = '';
    }
    if (reason === undefined || coordinatorMoved.has(reason)) {
      this.#options.cluster.forgetCoordinator(this.#options.groupId);
    }
  }
}
