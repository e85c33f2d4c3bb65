import { setTimeout as pause } from 'node:timers/promises';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog, type StoredRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenStack } from '../kit/open-stack.js';

/** An entry of the feed on its way, in milliseconds since 1970. */
interface Passage {
  /** When the projector encoded it, just before sending; half of the stamp's millisecond is added. */
  readonly writtenAtMs: number;
  readonly readAtMs: number;
}

/** What the feed says of an order, by its hash. */
type Trail = `${'ACTIVE' | 'INACTIVE' | 'GONE'}/${string}`;

type Counted = 'ACTIVE' | 'GONE';

/** Follows the feed as the router does. */
export interface Steps {
  next(trail: Trail): Promise<Passage>;
  /** How many entries were ACTIVE, or tombstones, since this began. */
  count(status: Counted): number;
  untilCount(status: Counted, count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Longer than anything that is worth a percentile. */
const STEP_MS_MAX = 30_000;
const COUNT_MS_MAX = 120_000;
const COUNT_POLL_MS = 20;
const ACTIVE = Buffer.from('"status":"ACTIVE"');

/** Milliseconds since 1970, with fractions, to be compared with stamps. */
export function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Resolves when what the feed held is passed over. */
export async function followSteps({ addresses, topicPrefix }: OpenStack): Promise<Steps> {
  const brokers = addresses.kafkaBrokers.split(',');
  const log = connectLog({ brokers, clientId: 'makerbook-bench', logger: silentLogger });
  const waiting = new Map<string, (passage: Passage) => void>();
  const awaited = new Set<string>();
  const counts = { ACTIVE: 0, GONE: 0 };
  const onRecords = (_partition: number, records: readonly StoredRecord[]) => {
    const readAtMs = wallMs();
    for (const record of records) {
      if (record.value === null) counts.GONE += 1;
      else if (record.value.includes(ACTIVE)) counts.ACTIVE += 1;
      // Only what is waited for is parsed: under load this process shares the CPU with those that it measures.
      if (awaited.has(record.key)) waiting.get(trailOf(record))?.({ writtenAtMs: record.timestampMs + 0.5, readAtMs });
    }
  };
  await log.followTopic({ topic: topicNames(topicPrefix).book, from: 'end', onRecords }).caughtUp;
  return {
    next: (trail) =>
      new Promise((resolve, reject) => {
        awaited.add(trail.split('/')[1] ?? '');
        const late = setTimeout(() => reject(new Error(`${trail} was not read in time`)), STEP_MS_MAX);
        waiting.set(trail, (passage) => {
          clearTimeout(late);
          waiting.delete(trail);
          resolve(passage);
        });
      }),
    count: (status) => counts[status],
    async untilCount(status, wanted) {
      const deadline = performance.now() + COUNT_MS_MAX;
      while (counts[status] < wanted) {
        const missing = wanted - counts[status];
        if (performance.now() > deadline) throw new Error(`${missing} orders did not become ${status} in time`);
        await pause(COUNT_POLL_MS);
      }
    },
    stop: () => log.close(),
  };
}

function trailOf({ key, value }: StoredRecord): string {
  if (value === null) return `GONE/${key}`;
  const { status } = JSON.parse(value.toString()) as { status: string };
  return `${status}/${key}`;
}
