import type { Logger } from './log.js';
import type { Connections, KafkaNode } from './reach-brokers.js';
import { codes, KafkaRefused, MemberAssignment, MemberMetadata } from './speak-kafka.js';
import { deadlineIn, pause, settledWithin } from './wait.js';

const PROTOCOL = 'RoundRobinAssigner';
const CALL_TIMEOUT_MS = 5_000;
const RETRY_PAUSE_MS = 200;

const coordinatorMoved: ReadonlySet<number> = new Set([
  codes.coordinatorLoading,
  codes.coordinatorNotAvailable,
  codes.notCoordinator,
]);

export interface GroupOptions {
  readonly connections: Connections;
  readonly groupId: string;
  readonly topic: string;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly logger: Logger;
  readonly now: () => number;
  /** These partitions are this member's. Heartbeats go on meanwhile. */
  readonly onAssigned: (partitions: readonly number[]) => Promise<void>;
  /** Finish what is under way: the partitions go to whoever gets them next. `lost`: they may have gone already. */
  readonly onRevoked: (lost: boolean) => Promise<void>;
}

export interface Membership {
  /** Commits positions for whoever looks at the group's lag. Does nothing outside of a generation. */
  commit(positions: ReadonlyMap<number, bigint>): Promise<void>;
  lastHeartbeatAtMs(): number;
  leave(): Promise<void>;
}

interface Joined {
  readonly errorCode: number;
  readonly generationId: number;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly { readonly memberId: string }[];
}

/**
 * Membership in a consumer group (the classic protocol): join, share out, heartbeat in the background whatever the
 * handlers do, and give the partitions back in order when others come or go. It never ends by itself: whatever fails is
 * tried again until `leave()`.
 */
export function joinGroup(options: GroupOptions): Membership {
  const { connections, groupId, topic, logger } = options;
  const leaving = new AbortController();
  let memberId = '';
  let generation: { readonly id: number; readonly node: KafkaNode } | undefined;
  let lastHeartbeatAtMs = 0;

  async function live(): Promise<void> {
    while (!leaving.signal.aborted) {
      try {
        await oneGeneration();
      } catch (error) {
        judge(error);
        logger.warn({ groupId, error: (error as Error).message }, 'joining the group failed, trying again');
        await pause(RETRY_PAUSE_MS, leaving.signal);
      }
    }
  }

  async function oneGeneration(): Promise<void> {
    const node = await connections.coordinatorOf('group', groupId, deadlineIn(CALL_TIMEOUT_MS));
    const joined = await join(node);
    memberId = joined.memberId;
    const shares = joined.leaderId === joined.memberId ? await shareOut(joined.members) : [];
    const synced = await node.call<{ errorCode: number; memberAssignment: Buffer }>(
      'SyncGroup',
      { groupId, generationId: joined.generationId, memberId, groupAssignment: shares },
      deadlineIn(options.rebalanceTimeoutMs + CALL_TIMEOUT_MS),
    );
    refuse('syncing with the group', synced.errorCode);
    const partitions = MemberAssignment.decode(synced.memberAssignment)?.assignment[topic] ?? [];
    if (leaving.signal.aborted) {
      return;
    }
    lastHeartbeatAtMs = options.now();
    generation = { id: joined.generationId, node };
    logger.info({ groupId, generation: joined.generationId, partitions }, 'partitions were assigned');
    const assigned = options.onAssigned(partitions);
    assigned.catch(() => undefined);
    let lost = true;
    try {
      lost = await heartbeats(generation);
    } finally {
      await giveBack(generation, assigned, lost);
      generation = undefined;
    }
  }

  async function join(node: KafkaNode): Promise<Joined> {
    for (;;) {
      const joined = await node.call<Joined>(
        'JoinGroup',
        {
          groupId,
          sessionTimeout: options.sessionTimeoutMs,
          rebalanceTimeout: options.rebalanceTimeoutMs,
          memberId,
          protocolType: 'consumer',
          groupProtocols: [
            {
              name: PROTOCOL,
              metadata: MemberMetadata.encode({ version: 0, topics: [topic], userData: Buffer.alloc(0) }),
            },
          ],
        },
        deadlineIn(options.rebalanceTimeoutMs + CALL_TIMEOUT_MS),
      );
      if (joined.errorCode !== codes.memberIdRequired) {
        refuse('joining the group', joined.errorCode);
        return joined;
      }
      memberId = joined.memberId;
    }
  }

  /** The group's leader shares out: each member every n-th partition. */
  async function shareOut(members: Joined['members']): Promise<{ memberId: string; memberAssignment: Buffer }[]> {
    connections.forgetLayout(topic);
    const layout = await connections.layoutOf(topic, deadlineIn(CALL_TIMEOUT_MS));
    const ids = members.map((member) => member.memberId).sort();
    return ids.map((id, index) => ({
      memberId: id,
      memberAssignment: MemberAssignment.encode({
        version: 0,
        assignment: { [topic]: [...layout.keys()].filter((partition) => partition % ids.length === index) },
        userData: Buffer.alloc(0),
      }),
    }));
  }

  /** Until the generation ends; true when the partitions may already belong to others. */
  async function heartbeats(mine: { id: number; node: KafkaNode }): Promise<boolean> {
    let node = mine.node;
    while (!leaving.signal.aborted) {
      await pause(options.heartbeatIntervalMs, leaving.signal);
      if (leaving.signal.aborted) {
        return false;
      }
      const code = await heartbeat(node, mine.id).catch(async (error: Error) => {
        logger.warn({ groupId, error: error.message }, 'a heartbeat was not answered');
        connections.forgetCoordinator(groupId);
        node = await connections
          .coordinatorOf('group', groupId, deadlineIn(options.heartbeatIntervalMs))
          .catch(() => node);
        return undefined;
      });
      if (code === codes.none) {
        lastHeartbeatAtMs = options.now();
      } else if (code === codes.rebalanceInProgress) {
        return false;
      } else if (code === codes.unknownMemberId || code === codes.illegalGeneration) {
        judge(new KafkaRefused('a heartbeat', code));
        return true;
      } else if (code !== undefined && coordinatorMoved.has(code)) {
        connections.forgetCoordinator(groupId);
        node = await connections.coordinatorOf('group', groupId, deadlineIn(CALL_TIMEOUT_MS)).catch(() => node);
      } else if (code !== undefined) {
        throw new KafkaRefused('a heartbeat', code);
      }
      if (options.now() - lastHeartbeatAtMs > options.sessionTimeoutMs) {
        logger.warn({ groupId }, 'the session with the group has ended unanswered');
        return true;
      }
    }
    return false;
  }

  async function heartbeat(node: KafkaNode, generationId: number): Promise<number> {
    const deadline = deadlineIn(Math.max(1_000, options.heartbeatIntervalMs));
    const answer = await node.call<{ errorCode: number }>(
      'Heartbeat',
      { groupId, groupGenerationId: generationId, memberId },
      deadline,
    );
    return answer.errorCode;
  }

  /** Lets handlers finish, with heartbeats so that the member is not dropped meanwhile. */
  async function giveBack(
    mine: { id: number; node: KafkaNode },
    assigned: Promise<void>,
    lost: boolean,
  ): Promise<void> {
    const finished = assigned.catch(() => undefined).then(() => options.onRevoked(lost));
    while (!(await settledWithin(options.heartbeatIntervalMs, finished))) {
      await heartbeat(mine.node, mine.id).catch(() => undefined);
    }
    await finished;
  }

  /** What an error says about this member's standing. */
  function judge(error: unknown): void {
    const code = error instanceof KafkaRefused ? error.code : undefined;
    if (code === codes.unknownMemberId) {
      memberId = '';
    }
    if (code === undefined || coordinatorMoved.has(code)) {
      connections.forgetCoordinator(groupId);
    }
  }

  const living = live();
  return {
    commit: async (positions) => {
      if (generation === undefined || positions.size === 0) {
        return;
      }
      await generation.node.call(
        'OffsetCommit',
        {
          groupId,
          groupGenerationId: generation.id,
          memberId,
          topics: [
            {
              topic,
              partitions: Array.from(positions, ([partition, offset]) => ({ partition, offset: offset.toString() })),
            },
          ],
        },
        deadlineIn(CALL_TIMEOUT_MS),
      );
    },
    lastHeartbeatAtMs: () => lastHeartbeatAtMs,
    leave: async () => {
      leaving.abort();
      if (generation === undefined) {
        // A join can wait long for other members; nothing of ours is under way.
        connections.interrupt();
      }
      await living;
      if (memberId !== '') {
        const node = await connections.coordinatorOf('group', groupId, deadlineIn(1_000)).catch(() => undefined);
        await node?.call('LeaveGroup', { groupId, memberId }, deadlineIn(1_000)).catch(() => undefined);
      }
      connections.close();
    },
  };
}

function refuse(what: string, code: number): void {
  if (code !== codes.none) {
    throw new KafkaRefused(what, code);
  }
}
