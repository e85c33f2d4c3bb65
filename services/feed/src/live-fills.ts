import { FeedViolation, type MessageId, priceOf, readMessageId } from '@makerbook/book';
import { decodeFill, type Fill } from '@makerbook/contracts-events';
import { type BookFill, type BookFills, FILLS_PAGE, fillsQuery } from '@makerbook/contracts-http';
import { isRefusal, okJson, type Reply, readQuery } from '@makerbook/http';
import type { Following, Log, StoredRecord } from '@makerbook/kafka';
import btree from 'sorted-btree';
import type { z } from 'zod';
import { formatCursor } from './cursor.js';
import { gatherNews, type News, RecentNews } from './keep-recent.js';
import type { LiveBook } from './live-book.js';

const { default: BTree } = btree;

export interface OpenFillsOptions {
  /** `limit-orders.fills.v1`, with the deployment's prefix. */
  readonly topic: string;
  /** It names the log, and is read first. */
  readonly book: Pick<LiveBook, 'caughtUp' | 'partitions' | 'logName'>;
  readonly fillsMax: number;
  /** The topic breaks its promise or cannot be read on. */
  readonly onFatal: (error: Error) => void;
  /** There are new fills for the streams, a moment after they came. */
  readonly onNews: () => void;
}

export type LiveFills = ReturnType<typeof openFills>;

interface KeptFill {
  readonly fill: BookFill;
  readonly line: string;
}

const STREAM_BYTES_MAX = 8_388_608;
/** More than a block has. */
const LOGS_MAX = 100_000;

/** The newest fills in memory, by their place on the chain, and what streams of them are sent from. */
export function openFills(log: Pick<Log, 'followTopic'>, options: OpenFillsOptions) {
  const { topic, book, fillsMax, onFatal, onNews } = options;
  const { partitions, logName } = book;
  const kept = new BTree<number, KeptFill>();
  const last = new Array<MessageId | undefined>(partitions).fill(undefined);
  let recent: RecentNews | undefined;
  let note: (news: News) => void = () => undefined;
  let following: Following | undefined;
  let isStopped = false;

  function take(record: StoredRecord): void {
    const { partition, headers, value } = record;
    const id = readMessageId({ partition, key: record.key ?? '', headers, value }, last[partition]);
    const read = decodeFill(record);
    if ('unreadable' in read) throw new FeedViolation(`${topic} ${partition}/${record.offset}: ${read.unreadable}`);
    const place = placeOf(read);
    // The second of the same log comes soon, if it comes.
    if (kept.has(place)) return;
    last[partition] = id;
    const fill = describeFill(read);
    const line = JSON.stringify(fill);
    kept.set(place, { fill, line });
    note({ partition, id, event: 'fill', log: logName(), line });
    const oldest = kept.minKey();
    if (kept.size > fillsMax && oldest !== undefined) kept.delete(oldest);
  }

  const caughtUp = book.caughtUp.then(async () => {
    if (isStopped) return;
    following = log.followTopic({
      topic,
      from: 'beginning',
      onFatal,
      onRecords: (_partition, records) => {
        for (const record of records) take(record);
      },
    });
    await following.caughtUp;
    recent = new RecentNews([...last], STREAM_BYTES_MAX);
    note = gatherNews(recent, onNews);
  });

  return {
    /** Resolves when all that the topic held at the start is read. */
    caughtUp,
    /** What streams are sent from; undefined until the topic is read. */
    recent: (): RecentNews | undefined => recent,
    partitions,
    logName,
    /** GET …/book/fills: a page of what is kept, newest first. The topic must be read. */
    list({ query }: { readonly query: URLSearchParams }): Reply {
      const asked = readQuery(query, fillsQuery);
      if (isRefusal(asked)) return asked;
      const { limit = FILLS_PAGE, cursor, ...wanted } = asked;
      const before = cursor === undefined ? undefined : placeIn(cursor);
      const lines: string[] = [];
      let nextCursor: string | null = null;
      let lastPlace = '';
      for (const [, { fill, line }] of kept.entriesReversed(before, undefined, true)) {
        if (!isWanted(fill, wanted)) continue;
        if (lines.length === limit) {
          nextCursor = lastPlace;
          break;
        }
        lines.push(line);
        lastPlace = `${fill.blockNumber}:${fill.logIndex}`;
      }
      const streamCursor = formatCursor({ log: logName(), cursor: last });
      const rest = JSON.stringify({ nextCursor, streamCursor } satisfies Omit<BookFills, 'fills'>);
      return okJson(`{"fills":[${lines.join(',')}],${rest.slice(1)}`, { 'Cache-Control': 'no-store' });
    },
    async stop(): Promise<void> {
      isStopped = true;
      await following?.stop();
    },
  };
}

function describeFill({ type: _, position: __, ...fill }: Fill): BookFill {
  const { numerator, denominator } = priceOf(BigInt(fill.takingAmount), BigInt(fill.makingAmount));
  return { ...fill, price: { numerator: String(numerator), denominator: String(denominator) } };
}

function placeOf({ blockNumber, logIndex }: Pick<Fill, 'blockNumber' | 'logIndex'>): number {
  return blockNumber * LOGS_MAX + logIndex;
}

function placeIn(cursor: string): number {
  const [blockNumber = 0, logIndex = 0] = cursor.split(':').map(Number);
  return placeOf({ blockNumber, logIndex });
}

function isWanted(
  fill: BookFill,
  { making, taking, maker }: Pick<z.infer<typeof fillsQuery>, 'making' | 'taking' | 'maker'>,
): boolean {
  const isOf = (wanted: string | undefined, is: string | undefined) => wanted === undefined || wanted === is;
  return isOf(making, fill.makingToken) && isOf(taking, fill.takingToken) && isOf(maker, fill.maker);
}
