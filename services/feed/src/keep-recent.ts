import type { MessageId } from '@makerbook/book';
import { type Cursor, covers, formatCursor, isBehind, moveTo } from './cursor.js';

/** One record of a feed, as streams send it. */
export interface News {
  readonly partition: number;
  readonly id: MessageId;
  readonly event: 'entry' | 'removed' | 'clock' | 'fill';
  /** The name of the log, if it was known then. */
  readonly log: string | undefined;
  /** The record's line in a snapshot. */
  readonly line: string;
}

/** Records that came together, with their events for streams that have read all before them. */
interface Chunk {
  readonly news: readonly News[];
  readonly before: Cursor;
  readonly after: Cursor;
  readonly events: Buffer;
}

/** Where a stream is. All chunks before `next` are sent, and the client has read up to `cursor`. */
export interface Place {
  readonly next: number;
  readonly cursor: Cursor;
}

/** A client gets a chunk once it has taken the one before, so this much at most waits for a client that takes none. */
const CHUNK_BYTES_MAX = 262_144;

/**
 * The newest records, in the order in which they came here. All streams send from them, each at its own pace. They
 * share the buffers, so a slow client costs only its place.
 */
export class RecentNews {
  readonly #bytesMax: number;
  readonly #chunks = new Map<number, Chunk>();
  #first = 0;
  #end = 0;
  #bytes = 0;
  #cursor: Cursor;
  #open: News[] = [];
  #openBytes = 0;

  /** @param cursor how far the topic was read before the first record that is kept */
  constructor(cursor: Cursor, bytesMax: number) {
    this.#cursor = cursor;
    this.#bytesMax = bytesMax;
  }

  /** How far streams can have read. */
  get cursor(): Cursor {
    return this.#cursor;
  }

  /** Records up to here are no longer kept. */
  get forgotten(): Cursor {
    return this.#chunks.get(this.#first)?.before ?? this.#cursor;
  }

  /** Takes the next record of its partition. Streams get it once its chunk is sealed. */
  append(news: News): void {
    this.#open.push(news);
    this.#openBytes += news.line.length;
    if (this.#openBytes >= CHUNK_BYTES_MAX) this.seal();
  }

  seal(): void {
    if (this.#open.length === 0) return;
    const before = this.#cursor;
    const { text, cursor } = renderNews(this.#open, before);
    const events = Buffer.from(text);
    this.#chunks.set(this.#end, { news: this.#open, before, after: cursor, events });
    this.#cursor = cursor;
    this.#bytes += events.length;
    this.#end += 1;
    this.#open = [];
    this.#openBytes = 0;
    while (this.#bytes > this.#bytesMax) {
      this.#bytes -= this.#chunks.get(this.#first)?.events.length ?? 0;
      this.#chunks.delete(this.#first);
      this.#first += 1;
    }
  }

  /** The place of a client that has read so far, here or at another process. Ask `isKept` before you use it. */
  placeOf(cursor: Cursor): Place {
    let next = this.#end;
    while (next > this.#first && !covers(cursor, this.#chunks.get(next - 1)?.after ?? cursor)) next -= 1;
    return { next, cursor };
  }

  /** False if the records that come next at the place are no longer kept. */
  isKept({ next, cursor }: Place): boolean {
    return next >= this.#first && (next > this.#first || covers(cursor, this.forgotten));
  }

  /**
   * The events that come next at a place, without those that the client has read elsewhere, and the place behind them.
   * Undefined if there are none yet. The place must be kept.
   */
  eventsAt({ next, cursor }: Place): { readonly events: Buffer | string; readonly place: Place } | undefined {
    const chunk = this.#chunks.get(next);
    if (chunk === undefined) return undefined;
    // Most streams have read exactly what this process had read then.
    if (cursor === chunk.before) return { events: chunk.events, place: { next: next + 1, cursor: chunk.after } };
    const rest = renderNews(chunk.news, cursor);
    const isAsFar = covers(chunk.after, rest.cursor);
    return { events: rest.text, place: { next: next + 1, cursor: isAsFar ? chunk.after : rest.cursor } };
  }
}

/**
 * Gathers news for the streams. All that comes in one turn becomes one chunk.
 * @param onNews called a moment after news came
 * @param soon runs work a moment later
 */
export function gatherNews(
  recent: RecentNews,
  onNews: () => void,
  soon: (work: () => void) => void = setImmediate,
): (news: News) => void {
  let isFlushing = false;
  return (news) => {
    recent.append(news);
    if (isFlushing) return;
    isFlushing = true;
    soon(() => {
      isFlushing = false;
      recent.seal();
      onNews();
    });
  };
}

/** The events of the records behind a cursor, each with the cursor behind it. */
function renderNews(all: readonly News[], from: Cursor): { readonly text: string; readonly cursor: Cursor } {
  let cursor = from;
  let text = '';
  for (const { partition, id, event, log, line } of all) {
    if (!isBehind(id, cursor[partition])) continue;
    cursor = moveTo(cursor, partition, id);
    text += `id: ${formatCursor({ log, cursor })}\nevent: ${event}\ndata: ${line}\n\n`;
  }
  return { text, cursor };
}
