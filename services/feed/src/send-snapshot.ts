import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { BookSnapshotEnd } from '@makerbook/contracts-http';
import { type ApiRequest, isRefusal, type Refusal, type Reply, unavailable } from '@makerbook/http';
import type { Room } from './admit-readers.js';
import { formatCursor } from './cursor.js';
import type { HeldBook } from './hold-book.js';

export interface SnapshotParts {
  readonly book: Pick<HeldBook, 'capture' | 'partitions'>;
  /** Snapshots of this process at once. */
  readonly snapshotsMax: number;
  /** A client has got all, or was cut. */
  readonly sent: (isWhole: boolean) => void;
}

/** A client that takes longer is cut: it holds a place among the snapshots at once. */
const SECONDS_MAX = 600;
const PAGE_LINES = 64;

/** GET …/book/snapshot, of all who ask this process. */
export function sendSnapshots({ book, snapshotsMax, sent }: SnapshotParts) {
  let underWay = 0;

  async function send(response: ServerResponse, isPacked: boolean): Promise<void> {
    const source = Readable.from(pagesOf(book), { highWaterMark: 1 });
    const through = isPacked ? [source, createGzip({ level: 1 }), response] : [source, response];
    await pipeline(through, { signal: AbortSignal.timeout(SECONDS_MAX * 1000) });
  }

  return async (request: ApiRequest, takeRoom: () => Room | Refusal): Promise<Reply> => {
    if (underWay >= snapshotsMax) return unavailable(`${underWay} snapshots are being sent here; try again`, 2);
    const room = takeRoom();
    if (isRefusal(room)) return room;
    const isPacked = /\bgzip\b(?!\s*;\s*q=0(\.0*)?(,|$))/.test(String(request.headers['accept-encoding'] ?? ''));
    return {
      body: '',
      contentType: 'application/x-ndjson',
      headers: {
        'Cache-Control': 'no-store',
        // nginx would keep all of it on its disk.
        'X-Accel-Buffering': 'no',
        Vary: 'Accept-Encoding',
        ...(isPacked && { 'Content-Encoding': 'gzip' }),
      },
      stream(response) {
        underWay += 1;
        room.enter();
        void send(response, isPacked)
          .then(
            () => sent(true),
            () => sent(false),
          )
          .finally(() => {
            underWay -= 1;
            room.leave();
          });
      },
    };
  };
}

/** Each partition as it is when its turn comes; then where the stream goes on from all of them. */
function* pagesOf(book: SnapshotParts['book']): Generator<string, void, void> {
  const cursor = [];
  const partitions: BookSnapshotEnd['partitions'] = [];
  for (let partition = 0; partition < book.partitions; partition += 1) {
    const { lines, last, entries, hash } = book.capture(partition);
    const position = last === undefined ? null : { partition, offset: String(last.offset) };
    cursor.push(last);
    partitions.push({ partition, position, entries, hash });
    for (let at = 0; at < lines.length; at += PAGE_LINES) yield `${lines.slice(at, at + PAGE_LINES).join('\n')}\n`;
  }
  const end: BookSnapshotEnd = { cursor: formatCursor(cursor), partitions };
  yield `${JSON.stringify(end)}\n`;
}
