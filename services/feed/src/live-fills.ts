import { type BookFills, fillsQuery } from '@makerbook/contracts-http';
import { isRefusal, okJson, type Reply, readQuery } from '@makerbook/http';
import type { Following, Log } from '@makerbook/kafka';
import { formatCursor } from './cursor.js';
import { type KeptFill, KeptFills } from './keep-fills.js';
import { gatherNews, type News, RecentNews } from './keep-recent.js';
import type { LiveBook } from './live-book.js';

export interface OpenFillsOptions {
  /** `limit-orders.fills.v1`, with the deployment's prefix. */
  readonly topic: string;
  /** The book names the log, and is read before the fills. */
  readonly book: Pick<LiveBook, 'caughtUp' | 'partitions' | 'logName'>;
  readonly fillsMax: number;
  /** Called if the topic breaks its promise or cannot be read on. */
  readonly onFatal: (error: Error) => void;
  /** Called a moment after new fills came for the streams. */
  readonly onNews: () => void;
  /** Runs work a moment later; setImmediate unless given. */
  readonly soon?: (work: () => void) => void;
}

export type LiveFills = ReturnType<typeof openFills>;

const STREAM_BYTES_MAX = 8_388_608;

/** Keeps the newest fills in memory, for pages and streams. */
export function openFills(log: Pick<Log, 'followTopic'>, options: OpenFillsOptions) {
  const { topic, book, fillsMax, onFatal, onNews, soon } = options;
  const { partitions, logName } = book;
  const kept = new KeptFills(partitions, fillsMax);
  let recent: RecentNews | undefined;
  let note: (news: News) => void = () => undefined;
  let following: Following | undefined;
  let isStopped = false;
  const newsOf = ({ partition, id, line }: KeptFill): News => {
    return { partition, id, event: 'fill', log: logName(), line };
  };

  const caughtUp = book.caughtUp.then(async () => {
    if (isStopped) return;
    following = log.followTopic({
      topic,
      from: 'beginning',
      onFatal,
      onRecords: (_partition, records) => {
        for (const record of records) {
          const taken = kept.take(record);
          if (taken !== undefined) note(newsOf(taken));
        }
      },
    });
    await following.caughtUp;
    // Streams can also go on behind fills from before the start.
    const begun = new RecentNews([...kept.forgotten], STREAM_BYTES_MAX);
    for (const one of kept.inOrder()) begun.append(newsOf(one));
    begun.seal();
    recent = begun;
    note = gatherNews(begun, onNews, soon);
  });

  return {
    /** Resolves when all that the topic held at the start is read. */
    caughtUp,
    /** The fills that streams send; undefined until the topic is read. */
    recent: (): RecentNews | undefined => recent,
    partitions,
    logName,
    /** GET …/book/fills: a page of the kept fills, newest first. The topic must be read. */
    list({ query }: { readonly query: URLSearchParams }): Reply {
      const asked = readQuery(query, fillsQuery);
      if (isRefusal(asked)) return asked;
      const { lines, next: nextCursor } = kept.page(asked);
      const streamCursor = formatCursor({ log: logName(), cursor: kept.last });
      const rest = JSON.stringify({ nextCursor, streamCursor } satisfies Omit<BookFills, 'fills'>);
      return okJson(`{"fills":[${lines.join(',')}],${rest.slice(1)}`, { 'Cache-Control': 'no-store' });
    },
    async stop(): Promise<void> {
      isStopped = true;
      await following?.stop();
    },
  };
}
