import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { BookFills, BookSnapshotEnd } from '@makerbook/contracts-http';
import type { Success } from '@makerbook/http';
import { type OpenResponse, openResponse } from './open-response.js';

export type FeedName = 'book' | 'fills';

/** Everything that a router has read since its last snapshot or page. */
export interface ReadFeed {
  /** Lines of the snapshot. Empty if the router began with a page of the fills. */
  readonly lines: readonly string[];
  /** The cursor of the snapshot or page. */
  readonly cursor: string;
  readonly events: { readonly cursor: string; readonly event: string; readonly data: string }[];
}

/** A router that follows a feed, over all of its connections. */
export class FollowedFeed {
  readonly name: FeedName;
  /** One for each snapshot or page. Events are added to the last one. */
  readonly all: ReadFeed[] = [];
  readonly wrong: string[] = [];
  #cursor: string | undefined;
  #open: OpenResponse | undefined;

  constructor(name: FeedName) {
    this.name = name;
  }

  /** The cursor to resume from. Undefined if the router has to start over. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /**
   * Closes the open connection and opens the next one.
   * @param drainLater given for a slow client. It is called after each write with the function that emits `drain`
   */
  reconnect(drainLater: ((drain: () => void) => void) | undefined): OpenResponse {
    this.#open?.leave();
    const open = openResponse((events) => {
      this.#take(events);
      drainLater?.(() => open.response.emit('drain'));
      return drainLater !== undefined;
    });
    this.#open = open;
    return open;
  }

  /** Forgets the cursor, so the router asks for a snapshot or page next. */
  beginAnew(): void {
    this.#cursor = undefined;
  }

  /** Takes a snapshot of the book or a page of the fills. Ignores it if the connection was closed meanwhile. */
  async begin(reply: Success, { isOpen }: OpenResponse): Promise<void> {
    const body = reply.stream === undefined ? String(reply.body) : await readStream(reply.stream);
    if (!isOpen()) return;
    const lines = body.trimEnd().split('\n');
    const end: BookSnapshotEnd | BookFills = JSON.parse(lines.pop() ?? '');
    const cursor = 'cursor' in end ? end.cursor : end.streamCursor;
    this.#cursor = cursor;
    this.all.push({ lines, cursor, events: [] });
  }

  #take(events: string): void {
    for (const [, cursor = '', event = '', data = ''] of events.matchAll(/id: (.*)\nevent: (.*)\ndata: (.*)\n\n/g)) {
      this.all.at(-1)?.events.push({ cursor, event, data });
      this.#cursor = cursor;
    }
  }
}

function readStream(stream: (response: ServerResponse) => void): Promise<string> {
  const response = new PassThrough();
  stream(response as unknown as ServerResponse);
  return text(response);
}
