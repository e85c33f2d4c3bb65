import type { MessageId } from '@makerbook/book';
import { type Cursor, covers, formatCursor, isBehind, moveTo } from './cursor.js';

/** One record of a feed, as streams send it. */
export interface News {
  readonly partition: number;
  readonly id: MessageId;
  readonly event: 'entry' | 'removed' | 'clock' | 'fill';
  /** The name of the log, as far as it was known then. */
  readonly log: string | undefined;
  /** The line that a snapshot has of it. */
  readonly line: string;
}

/** Records that came together, with the events that every stream sends that has read all before them. */
interface Chunk {
  readonly news: readonly News[];
  readonly before: Cursor;
  readonly after: Cursor;
  readonly events: Buffer;
}

/** Where a stream is: all of the chunks before `next` is sent, and it has read as far as `cursor`. */
export interface Place {
  readonly next: number;
  readonly cursor: Cursor;
}

/** A client gets one chunk after the other, as it takes them: so much can wait for one that takes nothing. */
const CHUNK_BYTES_MAX = 262_144;

/**
 * The newest records, in the order in which they came here: what all streams are sent from, each at its own pace. The
 * buffers are shared, so a slow client costs its place alone.
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

  /** What came up to here is not kept any more. */
  get forgotten(): Cursor {
    return this.#chunks.get(this.#first)?.before ?? this.#cursor;
  }

  /** Takes the next record of its partition; streams get it with the others once it is sealed. */
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

  /** The place of a client who has read so far, at this process or at another. Ask `isKept` before it is used. */
  placeOf(cursor: Cursor): Place {
    let next = this.#end;
    while (next > this.#first && !covers(cursor, this.#chunks.get(next - 1)?.after ?? cursor)) next -= 1;
    return { next, cursor };
  }

  /** False where records that come next at the place are not kept any more. */
  isKept({ next, cursor }: Place): boolean {
    return next >= this.#first && (next > this.#first || covers(cursor, this.forgotten));
  }

  /**
   * The events that come next at a place, without those that the client has read elsewhere, and the place behind them.
   * Undefined where there are none yet. The place must be kept.
   */
  eventsAt({ next, cursor }: Place): { readonly events: Buffer | string; readonly place: Place } | undefined {
    const chunk = this.#chunks.get(next);
    if (chunk === undefined) return undefined;
    // Most streams are as far as this process was.
    if (cursor === chunk.before) return { events: chunk.events, place: { next: next + 1, cursor: chunk.after } };
    const rest = renderNews(chunk.news, cursor);
    const isAsFar = covers(chunk.after, rest.cursor);
    return { events: rest.text, place: { next: next + 1, cursor: isAsFar ? chunk.after : rest.cursor } };
  }
}

/**
 * Takes news for the streams: what comes in one turn is one chunk.
 * @param onNews is called a moment after they came
 * @param soon does work a moment later
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

/** The events of those records that lie behind a cursor, each with the cursor behind it. */
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
