import type { UnixMs } from '@makerbook/contracts-primitives';
import { createInstruments } from '@makerbook/telemetry';
import type { Readers } from './admit-readers.js';
import type { LiveBook } from './live-book.js';
import type { EndReason } from './stream-book.js';

/** The kinds of requests of readers. */
export type Kind = 'snapshot' | 'stream' | 'pairs' | 'ladder' | 'quote' | 'fills' | 'fill stream';

/** The service's own metrics; those of HTTP are in `@makerbook/http`. Readers are those of the operator's file. */
export function createMetrics(
  book: Pick<LiveBook, 'entries' | 'oldestBlock'>,
  readers: Pick<Readers, 'streams'>,
  unixMs: () => UnixMs,
) {
  const { counter, gauge } = createInstruments('feed');
  const reads = counter('reads_total', 'Requests that were answered, by reader and by what was asked for');
  const ends = counter('streams_ended_total', 'Streams that the service ended, by reason');
  const cuts = counter('snapshots_total', 'Snapshots, by whether the client read all of it');
  gauge('book_orders', 'Open orders in the book', () => book.entries());
  gauge('book_age_seconds', 'Age of the oldest block up to which a partition of the book is complete', () => {
    const block = book.oldestBlock();
    return block === undefined ? [] : [[unixMs() / 1000 - block.timestamp, {}]];
  });
  gauge('streams_open', 'Open streams, and snapshots under way, by reader', () =>
    readers.streams().map(([reader, streams]) => [streams, { reader }] as const),
  );
  return {
    read: (reader: string, kind: Kind) => reads.add(1, { reader, kind }),
    ended: (reason: EndReason) => ends.add(1, { reason }),
    sent: (isWhole: boolean) => cuts.add(1, { outcome: isWhole ? 'whole' : 'cut' }),
  };
}
