import type { RequestHashers } from '@makerbook/contracts-evm';
import { happenings, type OrderHistory } from '@makerbook/contracts-http';
import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply } from '@makerbook/http';
import { type Log, partitionOf } from '@makerbook/kafka';
import { type Asker, answerSigned, lagHeader, logIsAway, rowsAreAway, type SignedParts } from './answer-signed.js';
import type { WriteWatch } from './await-writes.js';
import type { Cursors } from './cursor.js';
import { describeEntry, readFacts } from './describe-entries.js';
import { type HistoryPart, parseHistoryRequest } from './parse-requests.js';
import { lagOf } from './read-list.js';
import {
  type HistoryEntry,
  type HistoryPage,
  type HistoryQuery,
  type NewsQuery,
  placeOfEntry,
  type StoredNews,
} from './store/read-histories.js';

export interface ReadHistoryParts extends SignedParts {
  readonly hashers: Pick<RequestHashers, 'hashHistoryRequest'>;
  readonly readPage: ReturnType<typeof readPageFrom>;
}

/** Answers GET of a maker's history. Checks the shape, then the signed request, then reads one page. */
export async function readHistory(request: ApiRequest, parts: ReadHistoryParts): Promise<Reply> {
  const asked = parseHistoryRequest(request.query, parts.hashers);
  if (isRefusal(asked)) return asked;
  return answerSigned(request, asked, parts, async (asker) => {
    const page = await parts.readPage(asker, asked.part);
    if (isRefusal(page)) return page;
    return okJson(Buffer.from(JSON.stringify(page.history)), {
      'Cache-Control': 'private, no-store',
      ...lagHeader(page.lag),
    });
  });
}

/** An entry of the rows, and its description for the maker. */
export interface ReadEntry {
  readonly entry: HistoryEntry;
  /** The entry's cursor. What comes behind it has not been read. */
  readonly id: string;
  readonly described: OrderHistory['entries'][number];
}

/** The sources of entries. */
export interface EntrySources {
  readonly rows: {
    readonly readMakerHistory: (asked: HistoryQuery) => Promise<HistoryPage>;
    readonly readNews: (asked: NewsQuery) => Promise<StoredNews>;
  };
  readonly log: Pick<Log, 'readRecords'>;
  readonly topic: string;
  readonly cursors: Cursors;
}

/** What happened to the orders of makers, oldest first. */
export type News = ReadonlyMap<Hex, readonly ReadEntry[]>;
export type NewsReader = ReturnType<typeof readNewsFrom>;

/**
 * Reads what facts of some offsets did to the orders of some makers. Leaves out makers in quarantine, and all makers if
 * there are too many entries. Undefined while the log does not answer, or if a crash has undone the rows of these
 * facts.
 * @throws PostgresUnavailable
 */
export function readNewsFrom(sources: EntrySources) {
  return async (asked: NewsQuery): Promise<News | undefined> => {
    const { entries, isCut, quarantined, nextOffset } = await sources.rows.readNews(asked);
    if (nextOffset < asked.to) return undefined;
    if (isCut) return new Map();
    const read = await describeAll(entries, asked.partition, sources);
    if (read === undefined) return undefined;
    const news = new Map<Hex, ReadEntry[]>(asked.makers.map((maker) => [maker, []]));
    for (const maker of quarantined) news.delete(maker);
    for (const [at, { maker }] of entries.entries()) news.get(maker)?.push(...read.slice(at, at + 1));
    return news;
  };
}

export type EntryReader = ReturnType<typeof readEntriesFrom>;

/** Reads a page of a maker's history. The rows have what happened, the log has the rest. */
export function readEntriesFrom(sources: EntrySources, partitions: number) {
  return async (
    maker: Hex,
    asked: Pick<HistoryQuery, 'after' | 'before' | 'happened' | 'salt' | 'entriesMax'>,
  ): Promise<(Omit<HistoryPage, 'entries'> & { readonly entries: readonly ReadEntry[] }) | Refusal> => {
    const partition = partitionOf(maker, partitions);
    const page = await unlessAway(sources.rows.readMakerHistory({ maker, partition, ...asked }));
    if (page === undefined) return rowsAreAway;
    const entries = await describeAll(page.entries, partition, sources);
    return entries === undefined ? logIsAway : { ...page, entries };
  };
}

/** Undefined while the log does not answer. */
async function describeAll(
  entries: readonly HistoryEntry[],
  partition: number,
  { log, topic, cursors }: EntrySources,
): Promise<ReadEntry[] | undefined> {
  const facts = await readFacts(log, { topic, partition }, entries);
  if (facts === undefined) return undefined;
  const all: ReadEntry[] = [];
  for (const entry of entries) {
    const id = await cursors.cursorOf(partition, placeOfEntry(entry));
    if (id === undefined) return undefined;
    all.push({ entry, id, described: { orderHash: entry.orderHash, ...describeEntry(entry, facts) } });
  }
  return all;
}

interface PageSources extends EntrySources {
  readonly watch: WriteWatch;
  readonly log: Pick<Log, 'readRecords' | 'offsetsAt' | 'endOffsets'>;
}

/** Reads a page with every write that was answered to its maker before. */
export function readPageFrom({ watch, ...sources }: PageSources, partitions: number) {
  const { log, topic, cursors } = sources;
  const readEntries = readEntriesFrom(sources, partitions);
  return async (
    { maker, state: begun }: Asker,
    { happened = happenings, salt, fromMs, toMs, entriesMax, after }: HistoryPart,
  ): Promise<{ readonly history: OrderHistory; readonly lag: number | undefined } | Refusal> => {
    const refusal = after && (await cursors.refuse(after, maker));
    if (refusal !== undefined) return refusal;
    const partition = partitionOf(maker, partitions);
    const from = { topic, partition };
    const bounds = await unlessAway(
      Promise.all([
        fromMs === undefined || after !== undefined ? 0n : offsetAt(log, from, fromMs),
        toMs === undefined ? undefined : offsetAt(log, from, toMs),
      ]),
    );
    if (bounds === undefined) return logIsAway;
    const [start, end] = bounds;
    const state = begun && (await watch.awaitSettled(maker, begun));
    if (state === undefined) return rowsAreAway;
    const place = after?.place ?? { offset: start };
    const page = await readEntries(maker, { after: place, before: end, happened, salt, entriesMax });
    if (isRefusal(page)) return page;
    if (after !== undefined && place.offset < page.keptFrom) return historyIsGone;
    const nextCursor = await cursors.cursorOf(partition, page.next);
    if (nextCursor === undefined) return logIsAway;
    const entries = page.entries.map(({ described }) => described);
    const history = { entries, nextCursor, hasMore: page.hasMore };
    return { history, lag: lagOf(state, page) };
  };
}

/** The offset of the first record of that time or later, or the end of the log. */
async function offsetAt(
  log: PageSources['log'],
  { topic, partition }: { readonly topic: string; readonly partition: number },
  timeMs: number,
): Promise<bigint> {
  const found = (await log.offsetsAt(topic, timeMs))[partition];
  return found ?? (await log.endOffsets(topic))[partition] ?? 0n;
}

export const historyIsGone: Refusal = {
  code: 'gone',
  detail: 'the history after this cursor is not kept any more; leave the cursor out to read what is kept',
};
