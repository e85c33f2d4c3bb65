import {
  encodeMakerEvent,
  type MessageContext,
  type OrderCancelled,
  type OrderSubmitted,
} from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Decision, type ExitFact, nameOfExit } from '@makerbook/domain';
import { type AppendedAt, type LogRecord, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { activeTrace, describeSpan, inSendSpan } from '@makerbook/telemetry';
import { makerEventsTopicOf, storedByMsOf } from '../limits.js';
import type { Parts } from '../parts.js';

type Fact = OrderSubmitted | OrderCancelled | ExitFact;

export type AppendingParts = Pick<Parts, 'settings' | 'projection' | 'metrics' | 'logger' | 'appender' | 'store'>;

/**
 * Appends what was decided, all or nothing. If the log has certainly stored nothing, releases the rows in the store. If
 * the outcome is unknown, the rows stay until the fold meets the facts, or until the fold's clock has passed them.
 * Orders that a broker stores later than that do not count, nor do the cancellations beside them.
 * @param timeMs when the facts happened
 * @param decisions what was stored of the request
 * @returns where the last fact of each partition is, or the error if the log has not confirmed the facts
 */
export async function appendDecided(
  parts: AppendingParts,
  facts: readonly Fact[],
  {
    requestId,
    timeMs,
    decisions,
  }: {
    readonly requestId: string;
    readonly timeMs: number;
    readonly decisions: readonly Decision[];
  },
): Promise<readonly AppendedAt[] | LogUnavailable> {
  const { settings, projection, metrics, logger } = parts;
  const startedAt = performance.now();
  const topic = makerEventsTopicOf(settings);
  const origin = { 'makerbook.maker': facts[0]?.maker, 'makerbook.request_id': requestId };
  // All rows of a request are kept until the same time.
  const placed = decisions.find((one) => one.kind === 'place');
  const storedByMs = placed && storedByMsOf(placed.untilMs);
  try {
    const appended = await inSendSpan(topic, facts.length, origin, () =>
      append(parts, recordsOf({ topic, partitions: settings.PARTITIONS }, facts, { timeMs, storedByMs })),
    );
    assertInTime(appended, storedByMs);
    projection.appended(appended);
    metrics.took('append', startedAt);
    return appended;
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    if (!error.mayHaveBeenAppended) await release(parts, requestId, decisions);
    logger.warn({ requestId, reason: error.message, facts: facts.length }, 'the log did not confirm');
    return error;
  }
}

/** @throws LogUnavailable if the fold ignores the orders: a broker was late, or its clock is far ahead */
function assertInTime(appended: readonly AppendedAt[], storedByMs = Number.POSITIVE_INFINITY): void {
  const late = appended.find(({ timeMs }) => timeMs > storedByMs);
  if (late === undefined) return;
  const detail = `stored at ${late.timeMs} by the broker's clock, after the limit of ${storedByMs}`;
  throw new LogUnavailable(`partition ${late.partition}: ${detail}`, { mayHaveBeenAppended: true });
}

/** Releases what it can. The clock of the rows deletes the rest. */
export async function release(
  { store, logger }: Pick<Parts, 'store' | 'logger'>,
  requestId: string,
  decisions: readonly Decision[],
): Promise<void> {
  const hashesOf = (kind: 'place' | 'mark') =>
    decisions.flatMap((one): Hex[] => (one.kind === kind ? [one.orderHash] : []));
  const [placed, marked] = [hashesOf('place'), hashesOf('mark')];
  if (placed.length + marked.length === 0) return;
  await store.release(requestId, placed, marked).catch((error: unknown) => {
    logger.warn({ reason: String(error) }, 'rows in flight were not released: they expire by themselves');
  });
}

/** Appends facts of one partition in one record batch, of several in one transaction. Throws LogUnavailable. */
async function append(
  { appender }: Pick<Parts, 'appender'>,
  records: readonly LogRecord[],
): Promise<readonly AppendedAt[]> {
  const all = await appender.append(records);
  const appended = [...new Map(all.map((at) => [at.partition, at])).values()];
  const [at] = appended;
  if (at !== undefined && appended.length === 1) {
    describeSpan({
      'messaging.destination.partition.id': String(at.partition),
      'messaging.kafka.offset': Number(at.offset),
    });
  }
  return appended;
}

/** The records of facts, each in its maker's partition. */
export function recordsOf(
  { topic, partitions }: { readonly topic: string; readonly partitions: number },
  facts: readonly Fact[],
  times: Pick<MessageContext, 'timeMs' | 'storedByMs'>,
): LogRecord[] {
  const context = { source: '/makerbook/ingress', trace: activeTrace(), ...times };
  return facts.map((fact) => {
    const { value, headers } = encodeMakerEvent(fact, { ...context, id: idOf(fact) });
    return { topic, partition: partitionOf(fact.maker, partitions), key: fact.maker, value, headers };
  });
}

/** The same fact always has the same id, even when a client sends its request again. */
function idOf(fact: Fact): string {
  switch (fact.type) {
    case 'OrderSubmitted':
      return `${fact.orderHash}:submitted`;
    case 'OrderCancelled':
      return `${fact.orderHash}:cancelled`;
    default:
      return nameOfExit(fact);
  }
}
