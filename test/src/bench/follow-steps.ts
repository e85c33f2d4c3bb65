import { ceType, topicNames } from '@makerbook/contracts-events';
import { connectLog, type StoredRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenStack } from '../kit/open-stack.js';

/** A record on its way, in milliseconds since 1970. */
export interface Passage {
  /** When its writer encoded it, just before sending; half of the stamp's millisecond is added. */
  readonly writtenAtMs: number;
  /** When it was read here. */
  readonly readAtMs: number;
}

/** What a step of the flow leaves behind: a fact of the log, or what the router's feed holds of an order. */
export type Trail =
  | `submitted/${string}`
  | `cancelled/${string}`
  | `observed/${string}`
  | `ACTIVE/${string}`
  | `INACTIVE/${string}`
  | `GONE/${string}`;

/** Follows the log and the router's feed side by side, as services and router do. */
export interface Steps {
  /** The next record of this kind; the hash is the order's, or of `observed` the maker's address. */
  next(trail: Trail): Promise<Passage>;
  stop(): Promise<void>;
}

/** Longer than anything that is worth a percentile. */
const STEP_MS_MAX = 30_000;

/** Milliseconds since 1970, with fractions, to be compared with stamps. */
export function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Resolves when what the topics held is passed over. */
export async function followSteps({ addresses, topicPrefix }: OpenStack): Promise<Steps> {
  const log = connectLog({
    brokers: addresses.kafkaBrokers.split(','),
    clientId: 'makerbook-bench',
    logger: silentLogger,
  });
  const topics = topicNames(topicPrefix);
  const waiting = new Map<string, (passage: Passage) => void>();
  /** Only what is waited for is parsed: under load this process shares the CPU with those that it measures. */
  const awaited = new Set<string>();
  const follow = (topic: string, trailOf: (record: StoredRecord) => string | undefined) =>
    log.followTopic({
      topic,
      from: 'end',
      onRecords: (_partition, records) => {
        const readAtMs = wallMs();
        for (const record of records) {
          const trail = trailOf(record);
          const report = trail === undefined ? undefined : waiting.get(trail);
          report?.({ writtenAtMs: record.timestampMs + 0.5, readAtMs });
        }
      },
    });
  const followed = [
    follow(topics.makerEvents, trailOfFact),
    follow(topics.book, (record) => (awaited.has(record.key) ? trailOfEntry(record) : undefined)),
  ];
  await Promise.all(followed.map(({ caughtUp }) => caughtUp));
  return {
    next: (trail) =>
      new Promise((resolve, reject) => {
        const [, subject = ''] = trail.split('/');
        awaited.add(subject);
        const late = setTimeout(() => reject(new Error(`${trail} was not read in time`)), STEP_MS_MAX);
        waiting.set(trail, (passage) => {
          clearTimeout(late);
          waiting.delete(trail);
          resolve(passage);
        });
      }),
    stop: () => log.close(),
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
