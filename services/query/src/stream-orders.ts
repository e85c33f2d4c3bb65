import type { ServerResponse } from 'node:http';
import type { RequestHashers } from '@makerbook/contracts-evm';
import { happenings, type StreamEvent } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import {
  type After,
  type ApiRequest,
  EventStream,
  isRefusal,
  OpenStreams,
  type Refusal,
  type Reply,
  startTimer,
  streamReply,
  unavailable,
} from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import type { PartitionClockRow } from '@makerbook/postgres';
import { type Asker, answerSigned, listUnknown, logIsAway, type SignedParts } from './answer-signed.js';
import type { Cursors } from './cursor.js';
import { type AskedStream, parseStreamRequest } from './parse-requests.js';
import { type EntryReader, historyIsGone } from './read-history.js';
import type { Listing } from './read-list.js';
import type { HistoryPlace } from './store/read-histories.js';
import { type Listener, type RowTail, type ToldEntry, tell } from './tail-rows.js';

export interface StreamParts extends SignedParts {
  readonly hashers: Pick<RequestHashers, 'hashStreamRequest'>;
  readonly readList: (asker: Asker) => Promise<Listing | undefined>;
  readonly readEntries: EntryReader;
  readonly streams: OrderStreams;
  readonly cursors: Cursors;
  readonly partitions: number;
}

/** A client that has not read a page by then is dropped. It can resume from where it was. */
const SLOW_MS = 10_000;
const ENTRIES_MAX = 100;
const everything = { happened: happenings, before: undefined };
const CLOCK_MS = 1_000;
/** When to read the rows again: the tail does not see the facts of a maker whose quarantine has ended. */
const READ_AGAIN_MS = 10_000;
const RETRY_MS = 1_000;

/**
 * Answers GET …/stream: server-sent events of a maker. First comes the list, or what has happened since the event that
 * the request names. Then comes each change, and the clock of the maker's partition every second. The stream follows
 * the history, so its events are places in the history. Nothing is left out and nothing comes twice, whatever restarts.
 */
export async function streamOrders(request: ApiRequest, parts: StreamParts): Promise<Reply> {
  const asked = parseStreamRequest(request, parts.hashers);
  if (isRefusal(asked)) return asked;
  return answerSigned(request, asked, parts, async (asker) => {
    const { maker, key } = asker;
    const begun = await (asked.after === undefined ? beginAnew(asker, parts) : goOn(maker, asked.after, parts));
    if (isRefusal(begun)) return begun;
    const room = parts.streams.takeRoom(maker);
    if (isRefusal(room)) return room;
    const { open } = room;
    const mayGoOn = () => key === undefined || parts.rules.mayRead(maker, key, 'stream');
    return streamReply('private, no-store', (response) => open(response, begun, mayGoOn));
  });
}

/** Where a stream begins. */
interface Begun {
  readonly place: HistoryPlace;
  /** The cursor of the place. */
  readonly id: string;
  /** The data of the snapshot, if there is one. Deleted when sent, because a stream lasts long. */
  first?: string;
}

/** Begins with the list, at the place behind all that it shows. */
async function beginAnew(asker: Asker, { readList, cursors, partitions }: StreamParts): Promise<Begun | Refusal> {
  const listing = await readList(asker);
  if (listing === undefined) return listUnknown;
  const { version, cancelAt } = listing;
  const place: HistoryPlace = { offset: version === 0n ? 0n : version + 1n };
  const id = await cursors.cursorOf(partitionOf(asker.maker, partitions), place);
  if (id === undefined) return logIsAway;
  const data = `{"orders":${listing.body},"version":"${version}"${cancelAt > 0 ? `,"cancelAllAt":${cancelAt}` : ''}}`;
  return { place, id, first: data };
}

/** Resumes behind the event that the client names. */
async function goOn(
  maker: Hex,
  { id, cursor }: NonNullable<AskedStream['after']>,
  { cursors, readEntries }: StreamParts,
): Promise<Begun | Refusal> {
  const refusal = await cursors.refuse(cursor, maker);
  if (refusal !== undefined) return refusal;
  const { place } = cursor;
  // Ask for no entries, only whether the history behind the place is kept.
  const page = await readEntries(maker, { ...everything, entriesMax: 0, after: place });
  if (isRefusal(page)) return page;
  return place.offset < page.keptFrom ? historyIsGone : { place, id };
}

export interface OrderStreamsParts {
  readonly readEntries: EntryReader;
  readonly tail: RowTail;
  readonly partitions: number;
  readonly streamsMax: number;
  readonly streamsPerMakerMax: number;
  readonly after?: After | undefined;
  /** Takes an error that ends a stream and is no outage. */
  readonly onError: (error: unknown) => void;
}

interface Room {
  /** @param mayGoOn asked every second, because the key that signed may be revoked */
  readonly open: (response: ServerResponse, begun: Begun, mayGoOn: () => boolean) => void;
}

type EndReason = StreamEvent<'end'>['reason'];

export type OrderStreams = ReturnType<typeof serveStreams>;

/** The streams of this process. */
export function serveStreams(parts: OrderStreamsParts) {
  const open = new OpenStreams<OrderStream>();
  const ofMaker = new Map<Hex, number>();

  function leave(maker: Hex): void {
    const rest = (ofMaker.get(maker) ?? 1) - 1;
    if (rest === 0) ofMaker.delete(maker);
    else ofMaker.set(maker, rest);
  }

  return {
    count: () => open.all.size,

    /** Refuses a stream that is one too many. */
    takeRoom(maker: Hex): Room | Refusal {
      const own = ofMaker.get(maker) ?? 0;
      if (own >= parts.streamsPerMakerMax) {
        const detail = `the maker has ${own} streams open: end one first`;
        return { code: 'rate_limited', detail, headers: { 'Retry-After': '1' } };
      }
      if (open.isStopped) return unavailable('the service stops');
      if (open.all.size >= parts.streamsMax) return unavailable(`${open.all.size} streams are open here; try again`);
      return {
        open(response, begun, mayGoOn) {
          const events = new EventStream<EndReason>(response, parts.after);
          const stream = new OrderStream(maker, events, parts, mayGoOn);
          ofMaker.set(maker, (ofMaker.get(maker) ?? 0) + 1);
          open.enter(stream, events, () => leave(maker));
          stream.run(begun).catch((error: unknown) => {
            parts.onError(error);
            response.destroy();
          });
        },
      };
    },

    stop: () => open.stop(),
  };
}

class OrderStream {
  readonly #maker: Hex;
  readonly #partition: number;
  readonly #events: EventStream<EndReason>;
  readonly #parts: OrderStreamsParts;
  readonly #after: After;
  readonly #mayGoOn: () => boolean;
  #lastId: string | undefined;
  #stopTicking: () => void = () => undefined;
  /** Everything up to this clock has been sent. */
  #told: PartitionClockRow | undefined;
  /** Hears everything that has not been sent yet. Undefined while the rows are read. */
  #listener: Listener | undefined;

  constructor(maker: Hex, events: EventStream<EndReason>, parts: OrderStreamsParts, mayGoOn: () => boolean) {
    this.#maker = maker;
    this.#partition = partitionOf(maker, parts.partitions);
    this.#events = events;
    this.#parts = parts;
    this.#after = parts.after ?? startTimer;
    this.#mayGoOn = mayGoOn;
  }

  async run(begun: Begun): Promise<void> {
    let { place } = begun;
    this.#lastId = begun.id;
    const hasSnapshot = begun.first !== undefined;
    if (begun.first !== undefined) this.#write('snapshot', begun.first, this.#lastId);
    delete begun.first;
    this.#tick();
    while (this.#events.isOpen()) {
      const listener = this.#parts.tail.listen(this.#maker, this.#partition);
      try {
        const page = await this.#parts.readEntries(this.#maker, {
          ...everything,
          entriesMax: ENTRIES_MAX,
          after: place,
        });
        if (isRefusal(page)) await this.#events.wait(RETRY_MS);
        // A snapshot already shows the effect of entries that are pruned.
        else if (!hasSnapshot && place.offset < page.keptFrom) this.end('gone');
        else {
          this.#tell(page.entries.map(tell));
          place = page.next;
          if ((await this.#isTaken()) && !page.hasMore) place = await this.#follow(listener, place);
        }
      } finally {
        listener.close();
      }
    }
  }

  /** Sends what the tail reads, until something is missing. @returns the place behind all that was sent */
  async #follow(listener: Listener, from: HistoryPlace): Promise<HistoryPlace> {
    const { since } = listener;
    // The tail reads ahead of this history in a quarantine, or after a crash has undone rows.
    if (since === undefined || from.entry !== undefined || from.offset < since) {
      await this.#events.wait(READ_AGAIN_MS, listener.arrived());
      return from;
    }
    let { offset } = from;
    this.#listener = listener;
    for (;;) {
      await this.#events.wait(undefined, listener.arrived());
      const news = this.#events.isOpen() ? listener.take() : undefined;
      if (news === undefined) break;
      const untold = news.filter((entry) => entry.offset >= offset);
      this.#tell(untold);
      offset = (untold.at(-1)?.offset ?? offset - 1n) + 1n;
      if (!(await this.#isTaken())) break;
    }
    this.#listener = undefined;
    return { offset };
  }

  end(reason: EndReason): void {
    this.#stopTicking();
    this.#events.end(reason);
  }

  #tell(entries: readonly ToldEntry[]): void {
    for (const { id, json } of entries) {
      this.#write('change', `{"after":${JSON.stringify(this.#lastId)},${json.slice(1)}`, id);
      this.#lastId = id;
    }
  }

  /** Runs once a second. Ends the stream of a revoked key, and sends the clock. */
  #tick(): void {
    if (!this.#events.isOpen()) return;
    if (!this.#mayGoOn()) return this.end('revoked');
    if (this.#listener?.isQuiet()) this.#told = this.#parts.tail.clockOf(this.#partition);
    const { nextOffset, block } = this.#told ?? {};
    // A client that does not read gets no more clocks.
    if (!this.#events.isFull()) {
      if (nextOffset === undefined) this.#events.write(': waiting\n\n');
      else this.#write('clock', JSON.stringify({ position: `${this.#partition}:${nextOffset}`, block: block ?? null }));
    }
    this.#stopTicking = this.#after(CLOCK_MS, () => this.#tick());
  }

  #write(event: StreamEvent['event'], data: string, id?: string): void {
    this.#events.write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`);
  }

  /** @returns true if the client has read what was written; drops a client that does not read in time */
  async #isTaken(): Promise<boolean> {
    const { response } = this.#events;
    if (!this.#events.isFull()) return true;
    await this.#events.wait(SLOW_MS, new Promise((resolve) => response.once('drain', resolve)));
    if (this.#events.isFull()) this.end('slow');
    return !this.#events.isFull();
  }
}
