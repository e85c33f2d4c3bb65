import { decodeMakerEvent, type MakerEvent, servicePartition, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Log, partitionOf } from '@makerbook/kafka';

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

/**
 * All that operators decided about a maker, oldest first: its partition of the log is read from the beginning.
 * @param maker undefined: what they decided about the whole service
 */
export async function readHistory(
  log: Log,
  maker: Hex | undefined,
  { prefix, partitions }: { readonly prefix: string; readonly partitions: number },
): Promise<PastDecision[]> {
  const partition = maker === undefined ? servicePartition : partitionOf(maker, partitions);
  const topic = topicNames(prefix).makerEvents;
  const decisions: PastDecision[] = [];
  for await (const { records } of log.readRange({ topic, partition })) {
    for (const record of records) {
      const fact = decodeMakerEvent(record);
      if ('unreadable' in fact || !isDecision(fact)) continue;
      if (maker !== (fact.type === 'ServiceModeSet' ? undefined : fact.maker)) continue;
      decisions.push({ at: record.headers['ce_time'] ?? '', partition, offset: String(record.offset), fact });
    }
  }
  return decisions;
}

function isDecision(fact: MakerEvent): fact is DecisionFact {
  return 'cause' in fact && fact.cause.kind === 'operator';
}
