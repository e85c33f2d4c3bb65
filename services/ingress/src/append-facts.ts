import { encodeMakerEvent, type OrderCancelled, type OrderSubmitted } from '@makerbook/contracts-events';
import { type Appender, type LogRecord, partitionOf } from '@makerbook/kafka';

export interface AppendParts {
  readonly appender: Appender;
  readonly makerEventsTopic: string;
  readonly partitions: number;
}

/** Values for the headers of each fact of a request. */
export interface FactContext {
  readonly timeMs: number;
  readonly traceparent: string;
}

/**
 * Appends the facts of one request, all or none: facts of one partition lie in one record batch, those of several are
 * one transaction. Resolves after all in-sync replicas have acknowledged. Throws LogUnavailable.
 */
export async function appendFacts(
  { appender, makerEventsTopic, partitions }: AppendParts,
  facts: readonly (OrderSubmitted | OrderCancelled)[],
  { timeMs, traceparent }: FactContext,
): Promise<void> {
  const partitionOfMaker = new Map<string, number>();
  const records: LogRecord[] = facts.map((fact) => {
    let partition = partitionOfMaker.get(fact.maker);
    if (partition === undefined) {
      partition = partitionOf(fact.maker, partitions);
      partitionOfMaker.set(fact.maker, partition);
    }
    // The same fact always has the same id, also when a client sends its request again.
    const id = `${fact.orderHash}:${fact.type === 'OrderSubmitted' ? 'submitted' : 'cancelled'}`;
    const context = { id, source: '/makerbook/ingress', timeMs, traceparent };
    const { value, headers } = encodeMakerEvent(fact, context);
    return { topic: makerEventsTopic, partition, key: fact.maker, value, headers };
  });
  const isOnePartition = new Set(partitionOfMaker.values()).size === 1;
  await (isOnePartition ? appender.append(records) : appender.appendAtomically(records));
}
