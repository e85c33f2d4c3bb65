import {
  type BookEntry,
  type BookRemovalReason,
  bookRemovalHeaders,
  encodeBookRecord,
} from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import type { FeedRecord } from '../book.js';
import type { BookDigest } from '../hash-book.js';

const TOPIC_PARTITION = 3;

/** Where a record's fact is in the log, and which of its messages it is. */
export interface Place {
  readonly offset: number;
  readonly index?: number;
}

/** A hash of one repeated byte. */
export const hashOf = (byte: string): Hex => `0x${byte.repeat(32)}`;

/** An order that is open, VALIDATING unless said otherwise, as the projector publishes it. */
export function entryRecord(orderHash: Hex, place: Place, given: Partial<BookEntry> = {}): FeedRecord {
  const address = `0x${'aa'.repeat(20)}` as const;
  const entry = {
    type: 'BookEntry',
    orderHash,
    order: {
      salt: '0x1',
      nonce: '0x0',
      expiresAt: '0x3e8',
      making: { token: address, amount: '0xa' },
      taking: { token: address, amount: '0x1' },
      maker: address,
      permittedTaker: address,
    },
    signature: `0x${'11'.repeat(65)}`,
    remainingMakingAmount: '0xa',
    routableUntil: 940,
    acceptedAtMs: 0,
    position: { partition: TOPIC_PARTITION, offset: String(place.offset) },
    causes: ['SUBMITTED'],
    status: 'VALIDATING',
    ...given,
  } as BookEntry;
  return recordOf(encodeBookRecord(entry, contextOf(place)));
}

/** The partition's clock after a block whose `BlockProcessed` is at the place. */
export function clockRecord(block: number, place: Place, timestamp = block, book?: BookDigest): FeedRecord {
  const position = { partition: TOPIC_PARTITION, offset: String(place.offset + 1) };
  const ref = { number: block, hash: hashOf('bb'), timestamp };
  return recordOf(
    encodeBookRecord({ type: 'BookClock', block: ref, position, ...(book && { book }) }, contextOf(place)),
  );
}

export function tombstone(orderHash: Hex, removal: BookRemovalReason, place: Place): FeedRecord {
  const position = { partition: TOPIC_PARTITION, offset: String(place.offset) };
  const headers = bookRemovalHeaders(removal, `0x${'aa'.repeat(20)}`, position, contextOf(place));
  return { partition: TOPIC_PARTITION, key: orderHash, value: null, headers };
}

function recordOf({ key, value, headers }: ReturnType<typeof encodeBookRecord>): FeedRecord {
  return { partition: TOPIC_PARTITION, key: key ?? '', value, headers };
}

function contextOf({ offset, index = 0 }: Place) {
  return { id: `${TOPIC_PARTITION}:${offset}:${index}`, source: '/makerbook/test', timeMs: 0 };
}
