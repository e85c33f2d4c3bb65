import { bookStreamHeaders, bookStreamQuery, fillStreamQuery } from '@makerbook/contracts-http';
import { pause } from '@makerbook/contracts-primitives';
import {
  type ApiRequest,
  EventStream,
  isRefusal,
  OpenStreams,
  parseAs,
  type Refusal,
  type Reply,
  readQuery,
  refuseFields,
  streamReply,
  unavailable,
} from '@makerbook/http';
import type { Room } from './admit-readers.js';
import { type Cursor, covers, isAhead, type NamedCursor, parseCursor } from './cursor.js';
import type { Place, RecentNews } from './keep-recent.js';
import type { LiveBook } from './live-book.js';

/** Why the service ends a stream. `slow`: what the client lacks is gone. `unauthorized`: its key was removed. */
export type EndReason = 'slow' | 'stopping' | 'unauthorized';

export interface StreamsOptions {
  /** The feed to stream. */
  readonly feed: Pick<LiveBook, 'recent' | 'partitions' | 'logName'>;
  readonly name: keyof typeof feeds;
  readonly ended: (reason: EndReason) => void;
  /** How long a request waits, in ms, if its cursor is ahead of this process; 2,000 unless given. */
  readonly aheadMsMax?: number;
}

/** The query of each feed, and how a client without a good cursor begins. */
const feeds = {
  book: {
    query: bookStreamQuery,
    begin: 'take a snapshot (GET …/book/snapshot)',
    restart: 'drop the book, and take a snapshot',
  },
  fills: {
    query: fillStreamQuery,
    begin: undefined,
    restart: 'read GET …/book/fills again, and name its streamCursor',
  },
};

export type BookStreams = ReturnType<typeof serveStreams>;

const AHEAD_MS_MAX = 2_000;
const AHEAD_POLL_MS = 20;
const KEEP_ALIVE_MS = 5_000;

/** The streams of this process. */
export function serveStreams({ feed, name, ended, aheadMsMax = AHEAD_MS_MAX }: StreamsOptions) {
  const { query, begin, restart } = feeds[name];
  const open = new OpenStreams<BookStream>();
  const keepingAlive = setInterval(() => {
    for (const one of open.all) one.keepAlive();
  }, KEEP_ALIVE_MS).unref();

  /**
   * GET …/book/stream and …/book/fills/stream: every record behind the cursor, once, and each new one.
   * @param takeRoom counts the stream for its reader
   */
  async function stream(request: ApiRequest, takeRoom: () => Room | Refusal): Promise<Reply> {
    const named = readCursor(request);
    if (named !== undefined && isRefusal(named)) return named;
    const recent = await awaitCursor(named);
    if (isRefusal(recent)) return recent;
    const { cursor = recent.cursor } = named ?? {};
    const room = takeRoom();
    if (isRefusal(room)) return room;
    return streamReply('no-store', (response) => {
      const events = new EventStream<EndReason>(response);
      const one = new BookStream(events, recent, cursor, ended);
      room.enter(() => one.end('unauthorized'));
      open.enter(one, events, room.leave);
      one.send();
    });
  }

  /** Undefined if the stream begins with the next record. */
  function readCursor({
    query: given,
    headers,
  }: Pick<ApiRequest, 'query' | 'headers'>): NamedCursor | Refusal | undefined {
    const asked = readQuery(given, query);
    if (isRefusal(asked)) return asked;
    const named = parseAs(bookStreamHeaders, { 'Last-Event-ID': headers['last-event-id'] });
    if (isRefusal(named)) return named;
    const text = named['Last-Event-ID'] ?? asked.after;
    const fault = (message: string) => refuseFields([{ path: ['after'], message }]);
    if (text === undefined)
      return begin === undefined ? undefined : fault(`is missing: ${begin} first, and name its cursor`);
    return parseCursor(text, feed.partitions) ?? fault(`must have an item for each of ${feed.partitions} partitions`);
  }

  /** Waits a moment for this process if the client has read more at another one. */
  async function awaitCursor(named: NamedCursor | undefined): Promise<RecentNews | Refusal> {
    for (let waitedMs = 0; !open.isStopped; waitedMs += AHEAD_POLL_MS) {
      const recent = feed.recent();
      if (recent === undefined) return unavailable(`the ${name} is still being read; try again`);
      if (named === undefined) return recent;
      const { log, cursor } = named;
      const here = feed.logName();
      if (here !== undefined && here !== log)
        return { code: 'gone', detail: `the cursor belongs to another log: ${restart}` };
      if (!covers(cursor, recent.forgotten)) {
        const detail = `what came after the cursor is not kept any more: ${restart}`;
        return { code: 'gone', detail };
      }
      if (here === log && !isAhead(cursor, recent.cursor)) return recent;
      if (waitedMs >= aheadMsMax) return unavailable('the cursor is ahead of this process: try again');
      await pause(AHEAD_POLL_MS);
    }
    return unavailable('the service stops');
  }

  return {
    stream,
    /** Sends new records to all streams. */
    send(): void {
      for (const one of open.all) one.send();
    },
    stop(): void {
      clearInterval(keepingAlive);
      open.stop();
    },
  };
}

class BookStream {
  readonly #events: EventStream<EndReason>;
  readonly #recent: RecentNews;
  readonly #ended: StreamsOptions['ended'];
  #place: Place;

  constructor(events: EventStream<EndReason>, recent: RecentNews, cursor: Cursor, ended: StreamsOptions['ended']) {
    this.#events = events;
    this.#recent = recent;
    this.#ended = ended;
    this.#place = recent.placeOf(cursor);
    events.response.on('drain', () => this.send());
  }

  /** Writes the next events as long as the client takes them. */
  send(): void {
    const events = this.#events;
    if (!events.isOpen()) return;
    if (!this.#recent.isKept(this.#place)) return this.end('slow');
    while (!events.isFull()) {
      const more = this.#recent.eventsAt(this.#place);
      if (more === undefined) return;
      if (more.events.length > 0) events.write(more.events);
      this.#place = more.place;
    }
  }

  keepAlive(): void {
    if (!this.#events.isFull()) this.#events.write(':\n\n');
  }

  end(reason: EndReason): void {
    if (this.#events.isOpen()) this.#ended(reason);
    this.#events.end(reason);
  }
}
