import { setTimeout as pause } from 'node:timers/promises';
import { type BookChange, followBook } from '@makerbook/book';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenStack } from '../kit/open-stack.js';

/** `GONE` is a tombstone of an order that was in the book. */
type Counted = 'ACTIVE' | 'GONE';

/** What the bench reads of the router's feed, as the router would; times are of `performance.now()`. */
export interface Feeds {
  /** When the next entry of `limit-orders.book.v1` with this status of the order arrives; `GONE` is its tombstone. */
  nextStatus(orderHash: string, status: 'ACTIVE' | 'INACTIVE' | 'GONE'): Promise<number>;
  /** How many records had the status. */
  count(status: Counted): number;
  stop(): Promise<void>;
}

/** Longer than anything that is worth a percentile. */
const STATUS_MS_MAX = 30_000;
const COUNT_MS_MAX = 120_000;

/** Follows the book. Resolves when it is read up to now. */
export async function followFeeds({ addresses, topicPrefix }: OpenStack): Promise<Feeds> {
  const log = connectLog({
    brokers: addresses.kafkaBrokers.split(','),
    clientId: 'makerbook-bench',
    logger: silentLogger,
  });
  const topics = topicNames(topicPrefix);
  const awaited = createWaiters();
  const counts = { ACTIVE: 0, GONE: 0 };
  let failure: Error | undefined;
  const onFatal = (error: Error) => {
    failure ??= error;
  };
  const onChange = (change: BookChange) => {
    const at = performance.now();
    if (change.kind === 'removed') {
      counts.GONE += 1;
      awaited.report(change.orderHash, 'GONE', at);
    }
    if (change.kind !== 'entry') return;
    const { orderHash, status } = change.entry;
    if (status === 'ACTIVE') counts.ACTIVE += 1;
    awaited.report(orderHash, status, at);
  };
  const book = followBook(log, { topic: topics.book, onChange, onFatal });
  await book.caughtUp;
  return {
    nextStatus: (orderHash, status) => awaited.next(orderHash, status),
    count: (status) => {
      if (failure !== undefined) throw failure;
      return counts[status];
    },
    stop: () => log.close(),
  };
}

/** Promises of a status, by order and by status. */
function createWaiters() {
  const waiting = new Map<string, Map<string, (at: number) => void>>();
  return {
    next: (orderHash: string, status: string) =>
      new Promise<number>((resolve, reject) => {
        const statuses = waiting.get(orderHash) ?? new Map<string, (at: number) => void>();
        waiting.set(orderHash, statuses);
        const late = setTimeout(() => reject(new Error(`${orderHash} was not ${status} in time`)), STATUS_MS_MAX);
        statuses.set(status, (at) => {
          clearTimeout(late);
          resolve(at);
        });
      }),
    report: (orderHash: string, status: string, at: number) => {
      const statuses = waiting.get(orderHash);
      statuses?.get(status)?.(at);
      statuses?.delete(status);
      if (statuses?.size === 0) waiting.delete(orderHash);
    },
  };
}

/** Waits until so many records had the status. */
export async function untilCount(feeds: Feeds, status: Counted, count: number): Promise<void> {
  const deadline = performance.now() + COUNT_MS_MAX;
  while (feeds.count(status) < count) {
    if (performance.now() > deadline) throw new Error(`${count - feeds.count(status)} orders did not become ${status}`);
    await pause(20);
  }
}
