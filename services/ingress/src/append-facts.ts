import { encodeMakerEvent, type OrderCancelled, type OrderSubmitted } from '@makerbook/contracts-events';
import type { ReplyHeaders } from '@makerbook/http';
import { type AppendedAt, type Appender, type LogRecord, partitionOf } from '@makerbook/kafka';
import { type Attributes, activeTrace, describeSpan, inSendSpan } from '@makerbook/telemetry';
import type { ProjectionLag } from './watch-projection-lag.js';

export interface AppendParts {
  readonly appender: Appender;
  readonly makerEventsTopic: string;
  readonly partitions: number;
  readonly lag: Pick<ProjectionLag, 'appended'>;
}

/**
 * Appends the facts of one request, all or none: facts of one partition lie in one record batch, those of several are
 * one transaction. Resolves after all in-sync replicas have acknowledged. Throws LogUnavailable.
 * @param timeMs when they happened
 * @returns where the last one of each partition is
 */
export function appendFacts(
  parts: AppendParts,
  facts: readonly (OrderSubmitted | OrderCancelled)[],
  timeMs: number,
): Promise<readonly AppendedAt[]> {
  return inSendSpan(parts.makerEventsTopic, facts.length, describeOrigin(facts[0]), async () => {
    const { appender, lag } = parts;
    const records = describeFacts(parts, facts, timeMs);
    const isOfOne = records.every(({ partition }) => partition === records[0]?.partition);
    const appended = lastOfEach(await (isOfOne ? appender.append(records) : appender.appendAtomically(records)));
    lag.appended(appended);
    const [last] = appended;
    if (isOfOne && last !== undefined) {
      const partition = String(last.partition);
      describeSpan({ 'messaging.destination.partition.id': partition, 'messaging.kafka.offset': Number(last.offset) });
    }
    return appended;
  });
}

function lastOfEach(appended: readonly AppendedAt[]): readonly AppendedAt[] {
  return [...new Map(appended.map((at) => [at.partition, at])).values()];
}

/** The header by which an answer tells where in the log its facts are: `<partition>:<offset>`, one for each partition. */
export function positionHeader(appended: readonly AppendedAt[]): ReplyHeaders {
  return { 'X-Log-Position': appended.map(({ partition, offset }) => `${partition}:${offset}`).join(', ') };
}

function describeOrigin(first: OrderSubmitted | OrderCancelled | undefined): Attributes {
  const requestId = first?.cause.kind === 'request' ? first.cause.requestId : undefined;
  return { 'makerbook.maker': first?.maker, 'makerbook.request_id': requestId };
}

function describeFacts(
  { makerEventsTopic, partitions }: AppendParts,
  facts: readonly (OrderSubmitted | OrderCancelled)[],
  timeMs: number,
): LogRecord[] {
  const partitionOfMaker = new Map<string, number>();
  const trace = activeTrace();
  return facts.map((fact) => {
    let partition = partitionOfMaker.get(fact.maker);
    if (partition === undefined) {
      partition = partitionOf(fact.maker, partitions);
      partitionOfMaker.set(fact.maker, partition);
    }
    // The same fact always has the same id, also when a client sends its request again.
    const id = `${fact.orderHash}:${fact.type === 'OrderSubmitted' ? 'submitted' : 'cancelled'}`;
    const { value, headers } = encodeMakerEvent(fact, { id, source: '/makerbook/ingress', timeMs, trace });
    return { topic: makerEventsTopic, partition, key: fact.maker, value, headers };
  });
}
