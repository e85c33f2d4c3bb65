import type { RequestHashers } from '@makerbook/contracts-evm';
import { type Happening, happenings, type OrderHistory } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply } from '@makerbook/http';
import { LogUnavailable, partitionOf } from '@makerbook/kafka';
import {
  type HistoryEntry,
  type HistoryPage,
  type HistoryPlace,
  type HistoryQuery,
  type NewsQuery,
  unlessAway,
} from '@makerbook/postgres';
import { type Asker, answerSigned, lagHeader, type SignedParts } from './answer-signed.js';
import { describeEntry, type LoggedFact } from './describe-entries.js';
import { logIsAway } from './find-moment.js';
import { parseHistoryRequest } from './parse-requests.js';
import { lagOf } from './read-list.js';
import { type HistorySources, readFacts, rowsAreAway } from './read-order.js';

export interface ReadHistoryParts extends SignedParts {
  readonly hashers: Pick<RequestHashers, 'hashHistoryRequest'>;
  readonly readPage: ReturnType<typeof readPageFrom>;
}

/** What part of the history is asked for. */
export interface HistoryPart {
  readonly happened: readonly Happening[] | undefined;
  /** Milliseconds since 1970. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly entriesMax: number;
  readonly after: HistoryPlace | undefined;
}

/** GET of a maker's history: shape, then the checks of a signed request, then one page. */
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

/** An entry of the rows, and as it is told. */
export interface ReadEntry {
  readonly entry: HistoryEntry;
  readonly described: OrderHistory['entries'][number];
}

/** What happened to the orders of makers, oldest first. */
export type News = ReadonlyMap<Hex, readonly ReadEntry[]>;
export type NewsReader = ReturnType<typeof readNewsFrom>;

/**
 * Reads what facts of some offsets did to the orders of some makers. A maker in quarantine is not there, and nobody is if there
 * are too many entries. Undefined while the log does not answer, and if a crash has taken the rows of these facts back.
 * @throws PostgresUnavailable
 */
export function readNewsFrom({ rows, log, topic }: Pick<HistorySources, 'rows' | 'log' | 'topic'>) {
  return async (asked: NewsQuery): Promise<News | undefined> => {
    const { entries, isCut, quarantined, nextOffset } = await rows.readNews(asked);
    if (nextOffset < asked.to) return undefined;
    if (isCut) return new Map();
    const facts = await readFacts(log, { topic, partition: asked.partition }, entries);
    if (facts === undefined) return undefined;
    const news = new Map<Hex, ReadEntry[]>(asked.makers.map((maker) => [maker, []]));
    for (const maker of quarantined) news.delete(maker);
    for (const entry of entries) news.get(entry.maker)?.push(describe(entry, facts));
    return news;
  };
}

export type EntryReader = ReturnType<typeof readEntriesFrom>;

/** Reads a page of the history of a maker: what happened from the rows, the rest from the log. */
export function readEntriesFrom(
  { rows, log, topic }: Pick<HistorySources, 'rows' | 'log' | 'topic'>,
  partitions: number,
) {
  return async (
    maker: Hex,
    asked: Pick<HistoryQuery, 'after' | 'before' | 'happened' | 'entriesMax'>,
  ): Promise<(Omit<HistoryPage, 'entries'> & { readonly entries: readonly ReadEntry[] }) | Refusal> => {
    const partition = partitionOf(maker, partitions);
    const page = await unlessAway(rows.readMakerHistory({ maker, partition, ...asked }));
    if (page === undefined) return rowsAreAway;
    const facts = await readFacts(log, { topic, partition }, page.entries);
    if (facts === undefined) return logIsAway;
    return { ...page, entries: page.entries.map((entry) => describe(entry, facts)) };
  };
}

function describe(entry: HistoryEntry, facts: ReadonlyMap<bigint, LoggedFact>): ReadEntry {
  return { entry, described: { orderHash: entry.orderHash, ...describeEntry(entry, facts) } };
}

/** Reads a page with everything in it that was answered to its maker before. */
export function readPageFrom({ watch, ...sources }: HistorySources, partitions: number) {
  const { log, topic } = sources;
  const readEntries = readEntriesFrom(sources, partitions);
  return async (
    { maker, state: begun }: Asker,
    { happened = happenings, fromMs, toMs, entriesMax, after }: HistoryPart,
  ): Promise<{ readonly history: OrderHistory; readonly lag: number | undefined } | Refusal> => {
    const from = { topic, partition: partitionOf(maker, partitions) };
    const bounds = await unlessAway(
      Promise.all([
        fromMs === undefined || after !== undefined ? 0n : offsetAt(log, from, fromMs),
        toMs === undefined ? undefined : offsetAt(log, from, toMs),
      ]),
      LogUnavailable,
    );
    if (bounds === undefined) return logIsAway;
    const [start, end] = bounds;
    const state = begun && (await watch.awaitSettled(maker, begun));
    if (state === undefined) return rowsAreAway;
    const page = await readEntries(maker, { after: after ?? { offset: start }, before: end, happened, entriesMax });
    if (isRefusal(page)) return page;
    if (after !== undefined && after.offset < page.keptFrom) return gone;
    const entries = page.entries.map(({ described }) => described);
    const history = { entries, nextCursor: cursorOf(page.next), hasMore: page.hasMore };
    return { history, lag: page.isUnsure ? undefined : lagOf(state) };
  };
}

/** The offset of the first record of that time or later, or the end of the log. */
async function offsetAt(
  log: HistorySources['log'],
  { topic, partition }: { readonly topic: string; readonly partition: number },
  timeMs: number,
): Promise<bigint> {
  const found = (await log.offsetsAt(topic, timeMs))[partition];
  return found ?? (await log.endOffsets(topic))[partition] ?? 0n;
}

export function cursorOf({ offset, entry }: HistoryPlace): string {
  if (entry === undefined) return String(offset);
  return [offset, entry.orderHash, entry.place, entry.blockNumber, entry.logIndex].join(':');
}

/** @param cursor as `cursorOf` writes it */
export function placeOf(cursor: string): HistoryPlace {
  const [offset = '0', orderHash, place, blockNumber, logIndex] = cursor.split(':');
  if (orderHash === undefined) return { offset: BigInt(offset) };
  const entry = {
    orderHash: orderHash as Hex,
    place: Number(place),
    blockNumber: Number(blockNumber),
    logIndex: Number(logIndex),
  };
  return { offset: BigInt(offset), entry };
}

const gone: Refusal = {
  code: 'gone',
  detail: 'the history behind this cursor is not kept any more; without a cursor it begins with what is kept',
};
