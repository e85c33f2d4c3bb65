import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Cursor, covers, formatCursor, parseCursor } from './cursor.js';
import { type News, RecentNews } from './keep-recent.js';

const PARTITIONS = 3;
const LOG = '5e1fc0de';
const START: Cursor = new Array(PARTITIONS).fill(undefined);

/** The n-th message of a partition. A fact leads to two messages. */
function newsOf(partition: number, n: number): News {
  const id = { offset: BigInt(n >> 1), index: n & 1 };
  return { partition, id, event: 'entry', log: LOG, line: `${partition}/${n}` };
}
/** How many messages of each partition were read. */
const countsOf = (cursor: Cursor) => cursor.map((id) => (id === undefined ? 0 : Number(id.offset) * 2 + id.index + 1));
const cursorOf = (counts: readonly number[]): Cursor =>
  counts.map((count, partition) => (count === 0 ? undefined : newsOf(partition, count - 1).id));

const textOf = (cursor: Cursor) => formatCursor({ log: LOG, cursor });

/** The events of a text: the line of each, and the cursor behind it. */
const eventsIn = (text: string) =>
  [...text.matchAll(/id: (.+)\nevent: entry\ndata: (.+)\n\n/g)].map(([, id = '', line = '']) => ({ id, line }));

/** A process that began at some time, and reads the partitions in its own order. */
class Replica {
  readonly #read: number[];
  readonly recent: RecentNews;

  constructor(begun: readonly number[], bytesMax: number) {
    this.#read = [...begun];
    this.recent = new RecentNews(cursorOf(begun), bytesMax);
  }

  read(partition: number, end: number): void {
    const n = this.#read[partition] ?? 0;
    if (n >= end) return;
    this.recent.append(newsOf(partition, n));
    this.#read[partition] = n + 1;
  }
}

const step = fc.record({
  /** The partitions of the messages that are published meanwhile. */
  published: fc.array(fc.nat(PARTITIONS - 1), { minLength: 2, maxLength: 6 }),
  /** Reads: the replica, the partition, and whether a chunk is sealed afterwards. */
  reads: fc.array(fc.tuple(fc.nat(1), fc.nat(PARTITIONS - 1), fc.boolean()), { minLength: 8, maxLength: 24 }),
  /** The replica at which the client goes on, and after how many events of each chunk it is cut. */
  replica: fc.nat(1),
  cuts: fc.array(fc.nat(4), { minLength: 2, maxLength: 6 }),
});

test('a client that is cut off and resumes at any process gets each record once, in partition order', () => {
  let resumed = 0;
  const count = fc.nat(4);
  const counts = fc.tuple(count, count, count);
  fc.assert(
    fc.property(
      counts,
      counts,
      counts,
      fc.nat(400),
      fc.array(step, { minLength: 8, maxLength: 20 }),
      (one, other, begun, bytesMax, steps) => {
        const published = [...one.keys()].map((at) => Math.max(one[at] ?? 0, other[at] ?? 0, begun[at] ?? 0));
        const replicas = [new Replica(one, bytesMax), new Replica(other, 1_000_000)];
        // A snapshot has each partition at an instant of its own.
        let cursor = cursorOf(begun);
        for (const { published: more, reads, replica, cuts } of steps) {
          for (const partition of more) published[partition] = (published[partition] ?? 0) + 1;
          for (const [at, partition, isSealed] of reads) {
            replicas[at]?.read(partition, published[partition] ?? 0);
            if (isSealed) replicas[at]?.recent.seal();
          }
          const recent = replicas[replica]?.recent;
          if (recent === undefined || !covers(recent.cursor, cursor)) continue;
          let place = recent.placeOf(parseCursor(textOf(cursor), PARTITIONS)?.cursor ?? START);
          if (!recent.isKept(place)) {
            expect(covers(cursor, recent.forgotten)).toBe(false);
            cursor = recent.cursor;
            continue;
          }
          for (const taken of cuts) {
            const next = recent.eventsAt(place);
            if (next === undefined) break;
            const events = eventsIn(String(next.events));
            for (const { id, line } of events.slice(0, taken)) {
              const [partition = 0, n = 0] = line.split('/').map(Number);
              expect(countsOf(cursor)[partition]).toBe(n);
              const behind = cursor.with(partition, newsOf(partition, n).id);
              expect(id).toBe(textOf(behind));
              cursor = behind;
              resumed += 1;
            }
            // The client was cut within the chunk.
            if (taken < events.length) break;
            place = next.place;
            expect(textOf(place.cursor)).toBe(textOf(cursor));
          }
        }
      },
    ),
    { numRuns: 500 },
  );
  expect(resumed).toBeGreaterThan(5_000);
});

test('clients that have read the same are sent the same bytes', () => {
  const recent = new RecentNews(START, 1_000_000);
  recent.append(newsOf(0, 0));
  recent.seal();
  const [one, other] = [recent.placeOf(START), recent.placeOf(recent.cursor)].map(
    (place) => recent.eventsAt(place)?.place ?? place,
  );
  recent.append(newsOf(1, 0));
  recent.append(newsOf(0, 1));
  recent.seal();
  if (one === undefined || other === undefined) throw new Error('there are two places');
  expect(recent.eventsAt(one)?.events).toBe(recent.eventsAt(other)?.events);
});

test.each(['1:0:-', '-,-,-,-:5e1fc0de'])('the cursor %s is refused for its number of partitions', (text) => {
  expect(parseCursor(text, PARTITIONS)).toBeUndefined();
});
