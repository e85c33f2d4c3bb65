import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { BookSnapshotEnd } from '@makerbook/contracts-http';
import { type ApiRequest, isRefusal, type Refusal, type Reply, unavailable } from '@makerbook/http';
import type { Admitted } from './admit-readers.js';
import { formatCursor } from './cursor.js';
import type { LiveBook } from './live-book.js';

export interface SnapshotParts {
  readonly book: Pick<LiveBook, 'capture' | 'partitions' | 'logName'>;
  /** How many snapshots this process sends at once. One reader has half of the places at most. */
  readonly snapshotsMax: number;
  /** Called when a client has got all, or was cut. */
  readonly sent: (isWhole: boolean) => void;
  /** A client is slow if it takes less than `BYTES_MIN` of records in this time; 5,000 unless given. */
  readonly slowMs?: number;
}

/** A snapshot under way. */
interface Sending {
  readonly reader: string;
  /** Bytes of records that the client took in the last whole window, and in this one. */
  last: number;
  taken: number;
  readonly cut: () => void;
}

/** A client that takes longer is cut. */
const SECONDS_MAX = 600;
const SLOW_MS = 5_000;
/** 256 kB/s: a book of 100,000 orders takes less than `SECONDS_MAX`. */
const BYTES_MIN = 262_144 * 5;
const RETRY_SECONDS = 2;
const PAGE_LINES = 64;

/** GET …/book/snapshot, for all clients of this process. If all places are taken, a slow client loses its place. */
export function sendSnapshots({ book, snapshotsMax, sent, slowMs = SLOW_MS }: SnapshotParts) {
  const underWay = new Set<Sending>();

  /** Finds the snapshot that loses its place to the next. Undefined if a place is free, or no client is slow. */
  function findSlow(): Sending | undefined {
    if (underWay.size < snapshotsMax) return undefined;
    const [slowest] = [...underWay].sort((one, other) => one.last - other.last);
    return slowest !== undefined && slowest.last < BYTES_MIN ? slowest : undefined;
  }

  function refuse(reader: string): Refusal | undefined {
    const own = [...underWay].filter((one) => one.reader === reader).length;
    if (own >= Math.ceil(snapshotsMax / 2)) {
      const detail = `${own} snapshots are being sent to you here: read one to its end first`;
      return { code: 'rate_limited', detail, headers: { 'Retry-After': String(RETRY_SECONDS) } };
    }
    if (underWay.size < snapshotsMax || findSlow() !== undefined) return undefined;
    return unavailable(`${underWay.size} snapshots are being sent here; try again`, RETRY_SECONDS);
  }

  async function send(response: ServerResponse, isPacked: boolean, reader: Admitted): Promise<void> {
    const slow = findSlow();
    if (slow !== undefined) {
      underWay.delete(slow);
      slow.cut();
    }
    const cutting = new AbortController();
    // A client can be slow only after its first window.
    const sending: Sending = { reader: reader.client, last: BYTES_MIN, taken: 0, cut: () => cutting.abort() };
    underWay.add(sending);
    const judging = setInterval(() => {
      sending.last = sending.taken;
      sending.taken = 0;
    }, slowMs).unref();
    const source = Readable.from(countTaken(pagesOf(book), sending), { highWaterMark: 1 });
    const through = isPacked ? [source, createGzip({ level: 1 }), response] : [source, response];
    const signal = AbortSignal.any([AbortSignal.timeout(SECONDS_MAX * 1000), cutting.signal]);
    try {
      await pipeline(through, { signal });
    } finally {
      clearInterval(judging);
      underWay.delete(sending);
    }
  }

  return async (request: Pick<ApiRequest, 'headers'>, reader: Admitted): Promise<Reply> => {
    const refusal = refuse(reader.client);
    if (refusal !== undefined) return refusal;
    const room = reader.takeRoom();
    if (isRefusal(room)) return room;
    const isPacked = /\bgzip\b(?!\s*;\s*q=0(\.0*)?(,|$))/.test(String(request.headers['accept-encoding'] ?? ''));
    return {
      body: '',
      contentType: 'application/x-ndjson',
      headers: {
        'Cache-Control': 'no-store',
        // Without it nginx would keep the whole snapshot on its disk.
        'X-Accel-Buffering': 'no',
        Vary: 'Accept-Encoding',
        ...(isPacked && { 'Content-Encoding': 'gzip' }),
      },
      stream(response) {
        room.enter(() => response.destroy());
        void send(response, isPacked, reader)
          .then(
            () => sent(true),
            () => sent(false),
          )
          .finally(room.leave);
      },
    };
  };
}

function* countTaken(pages: Iterable<string>, sending: Sending): Generator<string, void, void> {
  for (const page of pages) {
    sending.taken += page.length;
    yield page;
  }
}

/** Yields each partition as it is when its turn comes, and then the cursor from which the stream goes on. */
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
  const end: BookSnapshotEnd = { cursor: formatCursor({ log: book.logName(), cursor }), partitions };
  yield `${JSON.stringify(end)}\n`;
}
