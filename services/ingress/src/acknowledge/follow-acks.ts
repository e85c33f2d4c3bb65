import { decodeAcknowledged } from '@makerbook/contracts-events';
import type { MonotonicMs } from '@makerbook/contracts-primitives';
import type { Log, LogPlace, StoredRecord } from '@makerbook/kafka';
import type { Logger } from '@makerbook/telemetry';

const POLL_MS = 10;

export interface FollowAcksOptions {
  readonly monotonicMs: () => MonotonicMs;
  readonly pause: (ms: number) => Promise<void>;
  readonly topic: string;
  /** How many partitions the log has. */
  readonly partitions: number;
  /** The registered routers. Acknowledgements of others do not count. */
  readonly routers: readonly string[];
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
}

export type RouterAcks = ReturnType<typeof followAcks>;

/** How far a router has applied a partition of the book, and when it said so last. */
interface Acknowledged {
  readonly offset: bigint;
  readonly atMs: number;
}

/**
 * Keeps in memory how far each router has applied the book. Begins with the acknowledgements from now on: routers
 * acknowledge with each block, and no earlier acknowledgement covers a fact that is yet to come.
 */
export function followAcks(
  log: Pick<Log, 'followTopic'>,
  { topic, partitions, routers, logger, onFatal, monotonicMs, pause }: FollowAcksOptions,
) {
  const startedAtMs = monotonicMs();
  const acknowledged = new Map(routers.map((router) => [router, new Map<number, Acknowledged>()]));

  function take({ headers, value, partition, offset }: StoredRecord): void {
    const ack = decodeAcknowledged({ headers: { ...headers }, value });
    if ('unreadable' in ack) {
      logger.warn({ topic, partition, offset: String(offset), reason: ack.unreadable }, 'an ack cannot be read');
      return;
    }
    const { position } = ack;
    acknowledged.get(ack.router)?.set(position.partition, { offset: BigInt(position.offset), atMs: monotonicMs() });
  }

  const following = log.followTopic({
    topic,
    from: 'end',
    onRecords: (_partition, records) => {
      for (const record of records) take(record);
    },
    onFatal,
  });
  const unseenBy = (facts: readonly LogPlace[]) =>
    routers.filter((router) => {
      const own = acknowledged.get(router);
      return facts.some(({ partition, offset }) => (own?.get(partition)?.offset ?? 0n) <= offset);
    });
  return {
    /** Keyed by router: the seconds since it acknowledged the partition that it has not acknowledged for longest. */
    ageSeconds(): ReadonlyMap<string, number> {
      const ages = [...acknowledged].map(([router, own]) => {
        const times = Array.from({ length: partitions }, (_, partition) => own.get(partition)?.atMs ?? startedAtMs);
        return [router, Math.max(0, (monotonicMs() - Math.min(...times)) / 1000)] as const;
      });
      return new Map(ages);
    },
    /** Waits until all routers have applied the facts, `timeoutMs` at most. @returns the routers that have not */
    async awaitSeen(facts: readonly LogPlace[], timeoutMs: number): Promise<readonly string[]> {
      const deadlineMs = monotonicMs() + timeoutMs;
      for (;;) {
        const unseen = unseenBy(facts);
        if (unseen.length === 0 || monotonicMs() >= deadlineMs) return unseen;
        await pause(POLL_MS);
      }
    },
    stop: () => following.stop(),
  };
}
