import { ceType, topicNames } from '@makerbook/contracts-events';
import { connectLog, type StoredRecord } from '@makerbook/kafka';
import { until } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenStack } from '../kit/open-stack.js';

/** A record on its way, in milliseconds since 1970. */
export interface Passage {
  /** When its writer encoded it, just before sending. Half of the stamp's millisecond is added. */
  readonly writtenAtMs: number;
  /** When it was read here. */
  readonly readAtMs: number;
}

/** The trace of a step of the flow: a fact of the log, or a message of the router's feed about an order. */
export type Trail =
  | `submitted/${string}`
  | `cancelled/${string}`
  | `observed/${string}`
  | `ACTIVE/${string}`
  | `INACTIVE/${string}`
  | `GONE/${string}`;

/** The kinds of feed entries that are counted. */
type Counted = 'ACTIVE' | 'GONE';

/** Follows the log and the router's feed side by side, as services and router do. */
export interface Steps {
  /** The next record of this kind. The hash is the order's, except that `observed` has the maker's address. */
  next(trail: Trail): Promise<Passage>;
  /** How many entries were ACTIVE, or tombstones, since this began. */
  count(status: Counted): number;
  /** Waits until the count is at least this. */
  untilCount(status: Counted, count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Longer than anything that is worth a percentile. */
const STEP_MS_MAX = 30_000;
const COUNT_MS_MAX = 120_000;
const ACTIVE = Buffer.from('"status":"ACTIVE"');

/** Milliseconds since 1970, with fractions, to be compared with stamps. */
export function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Follows the topics from their ends. Resolves once it has caught up.
 * @param options.withLog false to follow the feed alone, as the router does
 */
export async function followSteps(
  { addresses, topicPrefix }: OpenStack,
  { withLog = true }: { readonly withLog?: boolean } = {},
): Promise<Steps> {
  const log = connectLog({
    brokers: addresses.kafkaBrokers.split(','),
    clientId: 'makerbook-bench',
    logger: silentLogger,
  });
  const topics = topicNames(topicPrefix);
  const waiters = createWaiters();
  const counts = { ACTIVE: 0, GONE: 0 };
  const follow = (topic: string, trailOf: (record: StoredRecord) => string | undefined) =>
    log.followTopic({
      topic,
      from: 'end',
      onRecords: (_partition, records) => {
        const readAtMs = wallMs();
        for (const record of records)
          waiters.report(trailOf(record), { writtenAtMs: record.timestampMs + 0.5, readAtMs });
      },
    });
  const book = follow(topics.book, (record) => {
    if (record.value === null) counts.GONE += 1;
    else if (record.value.includes(ACTIVE)) counts.ACTIVE += 1;
    // Parse only awaited records: under load this process shares the CPU with those that it measures.
    return waiters.isAwaited(record.key) ? trailOfEntry(record) : undefined;
  });
  await Promise.all([book.caughtUp, withLog && follow(topics.makerEvents, trailOfFact).caughtUp]);
  return {
    next: waiters.next,
    count: (status) => counts[status],
    async untilCount(status, wanted) {
      await until(`${wanted} orders are ${status}`, () => counts[status] >= wanted, COUNT_MS_MAX);
    },
    stop: () => log.close(),
  };
}

function createWaiters() {
  const waiting = new Map<string, (passage: Passage) => void>();
  const awaited = new Set<string>();
  return {
    isAwaited: (subject: string) => awaited.has(subject),
    report: (trail: string | undefined, passage: Passage) => {
      if (trail !== undefined) waiting.get(trail)?.(passage);
    },
    next: (trail: Trail) =>
      new Promise<Passage>((resolve, reject) => {
        const [, subject = ''] = trail.split('/');
        awaited.add(subject);
        const late = setTimeout(() => reject(new Error(`${trail} was not read in time`)), STEP_MS_MAX);
        waiting.set(trail, (passage) => {
          clearTimeout(late);
          waiting.delete(trail);
          resolve(passage);
        });
      }),
  };
}

function trailOfFact({ key, headers }: StoredRecord): string | undefined {
  switch (headers['ce_type']) {
    case ceType('OrderSubmitted'):
      return `submitted/${hashOf(headers)}`;
    case ceType('OrderCancelled'):
      return `cancelled/${hashOf(headers)}`;
    case ceType('MakerObserved'):
      return `observed/${key}`;
    default:
      return undefined;
  }
}

/** Ingress names a fact `<order hash>:<what>`. */
function hashOf(headers: StoredRecord['headers']): string {
  return headers['ce_id']?.split(':')[0] ?? '';
}

function trailOfEntry({ key, value }: StoredRecord): string {
  if (value === null) return `GONE/${key}`;
  const { status } = JSON.parse(value.toString()) as { status: string };
  return `${status}/${key}`;
}
