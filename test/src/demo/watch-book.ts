import { type BookChange, type FollowedBook, followBook } from '@makerbook/book';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog, type Log } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';

/** What the router's feed says of one order: `ACTIVE`, `INACTIVE (INSUFFICIENT_BALANCE)`, `gone (CANCELLED)` … */
export interface BookNews {
  readonly orderHash: string;
  readonly status: string;
}

export interface WatchedBook {
  readonly log: Log;
  readonly book: FollowedBook;
  /** The newest news of an order that `isOurs` knows; undefined before the first. */
  last(orderHash: string): string | undefined;
  stop(): Promise<void>;
}

/** Follows `limit-orders.book.v1` as a router does, and reports each record of the orders that `isOurs` knows. */
export function watchBook(
  kafkaBrokers: string,
  topicPrefix: string,
  options: {
    readonly isOurs: (orderHash: string) => boolean;
    readonly onNews: (news: BookNews) => void;
    readonly onFatal: (error: Error) => void;
  },
): WatchedBook {
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'makerbook-demo', logger: silentLogger });
  const last = new Map<string, string>();
  const book = followBook(log, {
    topic: topicNames(topicPrefix).book,
    onFatal: options.onFatal,
    onChange: (change) => {
      const news = newsOf(change);
      if (news === undefined || !options.isOurs(news.orderHash)) return;
      last.set(news.orderHash, news.status);
      options.onNews(news);
    },
  });
  return { log, book, last: (orderHash) => last.get(orderHash), stop: () => log.close() };
}

function newsOf(change: BookChange): BookNews | undefined {
  switch (change.kind) {
    case 'clock':
      return undefined;
    case 'removed':
      return { orderHash: change.orderHash, status: `gone (${change.removal})` };
    case 'entry': {
      const { entry } = change;
      const status = entry.status === 'INACTIVE' ? `${entry.status} (${entry.reason})` : entry.status;
      return { orderHash: entry.orderHash, status };
    }
  }
}
