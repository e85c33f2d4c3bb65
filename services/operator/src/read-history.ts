import { decodeMakerEvent, isHold, type MakerEvent, servicePartition, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Log, partitionOf } from '@makerbook/kafka';
import { readMakers } from './read-makers.js';

const DAY_MS = 86_400_000;

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

/** All makers that `salvage` has suspended, and of whom nobody has decided since. */
export interface Suspended {
  /** When the projector had folded that, in milliseconds since 1970: makers cannot cancel before. */
  readonly atMs: number;
  readonly makers: readonly Hex[];
}

/**
 * All that operators decided about a maker, oldest first: its partition of the log is read from the beginning.
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
 * Reads the log of the day before the service was limited to cancellations, and since.
 * @returns undefined where `salvage` has not limited it, or the limit was lifted since
 */
export async function readSuspended(log: Log, topics: Topics): Promise<Suspended | undefined> {
  const { service, serviceAtMs } = await readMakers(log, topics.prefix);
  if (service?.mode !== 'CANCEL_ONLY') return undefined;
  const [topic, offset] = [topicNames(topics.prefix).makerEvents, BigInt(service.position.offset)];
  const record = (await log.readRecords({ topic, partition: servicePartition }, [offset])).get(offset);
  if (record === undefined) return undefined;
  const starts = await log.offsetsAt(topic, record.timestampMs - DAY_MS);
  let isHeld = false;
  for await (const { fact } of readDecisions(log, servicePartition, topics, starts[servicePartition])) {
    // A person may have limited it too: that ends no hold.
    if (fact.type === 'ServiceModeSet') isHeld = fact.mode === 'CANCEL_ONLY' && (isHeld || isHold(fact.cause));
  }
  if (!isHeld) return undefined;
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
  return { atMs: serviceAtMs, makers };
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
