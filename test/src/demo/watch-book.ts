import { decodeBookEntry, topicNames } from '@makerbook/contracts-events';
import { connectLog, type Log } from '@makerbook/kafka';

/** What the router was told of one order. */
export interface BookNews {
  readonly orderHash: string;
  /** `ACTIVE`, `INACTIVE (INSUFFICIENT_BALANCE)`, `gone (CANCELLED)` … */
  readonly says: string;
}

export interface Book {
  readonly log: Log;
  /** What the router was told last of an order; undefined before the first word. */
  readonly last: (orderHash: string) => string | undefined;
  readonly stop: () => Promise<void>;
}

/** Follows `limit-orders.book.v1` as the router does, and tells of each record of the orders that `isOurs` knows. */
export function watchBook(
  kafkaBrokers: string,
  topicPrefix: string,
  { isOurs, onNews }: { isOurs: (orderHash: string) => boolean; onNews: (news: BookNews) => void },
): Book {
  const quiet = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'makerbook-demo', logger: quiet });
  const last = new Map<string, string>();
  log.followTopic({
    topic: topicNames(topicPrefix).book,
    from: 'beginning',
    onRecords: (_partition, records) => {
      for (const record of records) {
        if (!isOurs(record.key)) continue;
        const says = describe(record);
        last.set(record.key, says);
        onNews({ orderHash: record.key, says });
      }
    },
  });
  return { log, last: (orderHash) => last.get(orderHash), stop: () => log.close() };
}

function describe({ value, headers }: { value: Buffer | null; headers: Readonly<Record<string, string>> }): string {
  if (value === null) return `gone (${headers['removal'] ?? 'no reason given'})`;
  const entry = decodeBookEntry({ value, headers });
  if ('unreadable' in entry) return `unreadable: ${entry.unreadable}`;
  return entry.status === 'INACTIVE' ? `${entry.status} (${entry.reason})` : entry.status;
}

function nothing(): void {
  // says nothing
}
