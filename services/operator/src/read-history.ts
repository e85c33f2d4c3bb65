import { decodeMakerEvent, isHold, type MakerEvent, servicePartition, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Log, partitionOf } from '@makerbook/kafka';
import { readMakers } from './read-makers.js';

/** The projector takes less than this to fold what `salvage` wrote. */
const WINDOW_MS = 7 * 86_400_000;

/** A fact that an operator wrote, and where and when. */
export interface PastDecision {
  /** ISO 8601. */
  readonly at: string;
  readonly partition: number;
  /** Decimal. */
  readonly offset: string;
  readonly fact: DecisionFact;
}

type DecisionFact = Extract<
  MakerEvent,
  {
    type:
      | 'MakerAdmitted'
      | 'MakerSuspended'
      | 'MakerRemoved'
      | 'MakerLimitsSet'
      | 'QuarantineLifted'
      | 'ServiceModeSet';
  }
>;

interface Topics {
  readonly prefix: string;
  readonly partitions: number;
}

/** All makers that `salvage` has suspended, and about whom nobody has decided since. */
export interface Suspended {
  /** When the projector had folded that, in milliseconds since 1970; undefined before: makers cannot cancel yet. */
  readonly atMs: number | undefined;
  readonly makers: readonly Hex[];
}

/**
 * Reads all that operators decided about a maker, oldest first, from the beginning of its partition of the log.
 * @param maker undefined: what they decided about the whole service
 */
export async function readHistory(log: Log, maker: Hex | undefined, topics: Topics): Promise<PastDecision[]> {
  const partition = maker === undefined ? servicePartition : partitionOf(maker, topics.partitions);
  const decisions: PastDecision[] = [];
  for await (const decision of readDecisions(log, partition, topics)) {
    if (maker === (decision.fact.type === 'ServiceModeSet' ? undefined : decision.fact.maker)) decisions.push(decision);
  }
  return decisions;
}

/**
 * Reads the log of the last week. If the makers' feed shows a limited service, it also reads the week before that was
 * published: the feed may be far behind the log.
 * @returns undefined if `salvage` has not limited the service to cancellations, or the limit was lifted since
 */
export async function readSuspended(log: Log, topics: Topics, nowMs: number): Promise<Suspended | undefined> {
  const { service, serviceAtMs } = await readMakers(log, topics.prefix);
  const shownMs = service?.mode === 'CANCEL_ONLY' ? serviceAtMs : nowMs;
  const starts = await log.offsetsAt(topicNames(topics.prefix).makerEvents, Math.min(nowMs, shownMs) - WINDOW_MS);
  const start = starts[servicePartition];
  if (start === undefined) return undefined;
  let heldAt: bigint | undefined;
  for await (const { fact, offset } of readDecisions(log, servicePartition, topics, start)) {
    if (fact.type !== 'ServiceModeSet') continue;
    if (fact.mode === 'NORMAL') heldAt = undefined;
    // A person may have limited the service too, which ends no hold.
    else if (isHold(fact.cause)) heldAt ??= BigInt(offset);
  }
  if (heldAt === undefined) return undefined;
  const newest = new Map<Hex, PastDecision>();
  for (const [partition, from] of starts.entries()) {
    if (from === undefined) continue;
    for await (const decision of readDecisions(log, partition, topics, from)) {
      const { fact } = decision;
      const isAccess = fact.type === 'MakerAdmitted' || fact.type === 'MakerSuspended' || fact.type === 'MakerRemoved';
      if (isAccess) newest.set(fact.maker, decision);
    }
  }
  const makers = [...newest].flatMap(([maker, { fact }]) => (isHold(fact.cause) ? [maker] : []));
  const isFolded = service !== undefined && BigInt(service.position.offset) >= heldAt;
  return { atMs: isFolded ? serviceAtMs : undefined, makers };
}

async function* readDecisions(
  log: Log,
  partition: number,
  { prefix }: Topics,
  from?: bigint,
): AsyncGenerator<PastDecision> {
  const topic = topicNames(prefix).makerEvents;
  for await (const { records } of log.readRange({ topic, partition }, from)) {
    for (const record of records) {
      const fact = decodeMakerEvent(record);
      if ('unreadable' in fact || !isDecision(fact)) continue;
      yield { at: record.headers['ce_time'] ?? '', partition, offset: String(record.offset), fact };
    }
  }
}

function isDecision(fact: MakerEvent): fact is DecisionFact {
  return 'cause' in fact && fact.cause.kind === 'operator';
}
