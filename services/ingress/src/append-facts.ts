import { encodeMakerEvent, type OrderCancelled, type OrderSubmitted } from '@makerbook/contracts-events';
import type { ReplyHeaders } from '@makerbook/http';
import { type AppendedAt, type Appender, type LogRecord, LogUnavailable, partitionOf } from '@makerbook/kafka';
import type { PlacementStore } from '@makerbook/postgres';
import { type Attributes, activeTrace, describeSpan, inSendSpan, type Logger } from '@makerbook/telemetry';
import type { IngressMetrics } from './metrics.js';
import type { ProjectionLag } from './watch-projection-lag.js';

export interface AppendParts {
  readonly appender: Appender;
  readonly makerEventsTopic: string;
  readonly partitions: number;
  readonly lag: Pick<ProjectionLag, 'appended'>;
}

export interface DecidedAppendParts extends AppendParts {
  readonly store: Pick<PlacementStore, 'release'>;
  readonly logger: Logger;
  readonly metrics: Pick<IngressMetrics, 'took'>;
}

/**
 * Appends what Postgres has decided with this `untilMs`. Where the log has certainly stored nothing, what Postgres has written
 * is released. Where the outcome is unknown it stays: the fold meets it, or its clock passes.
 * @param timeMs when the facts happened
 * @returns where the last one of each partition is; the error where the log has not confirmed them
 */
export async function appendDecided(
  parts: DecidedAppendParts,
  facts: readonly (OrderSubmitted | OrderCancelled)[],
  { requestId, timeMs, untilMs }: { readonly requestId: string; readonly timeMs: number; readonly untilMs: number },
): Promise<readonly AppendedAt[] | LogUnavailable> {
  const { logger, metrics } = parts;
  const startedAt = performance.now();
  try {
    const appended = await appendFacts(parts, facts, timeMs);
    metrics.took('append', performance.now() - startedAt);
    return appended;
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    if (!error.mayHaveBeenAppended) await release(parts, facts, untilMs);
    logger.warn({ requestId, reason: error.message, orders: facts.length }, 'the log did not confirm');
    return error;
  }
}

/** Best effort: what is not released is deleted by the clock of the rows. */
export async function release(
  { store, logger }: Pick<DecidedAppendParts, 'store' | 'logger'>,
  orders: readonly Pick<OrderSubmitted, 'orderHash'>[],
  untilMs: number,
): Promise<void> {
  const orderHashes = orders.map(({ orderHash }) => orderHash);
  await store.release(orderHashes, untilMs).catch((error: unknown) => {
    logger.warn({ reason: String(error) }, 'what was not stored is left to the clock');
  });
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
