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

/** A record with its value as in Kafka. */
export type KafkaRecord = FeedRecord & { readonly value: Buffer | null };

/** The log position of a record's fact, and the record's index among the fact's messages. */
export interface Place {
  readonly offset: number;
  readonly index?: number;
  /** The partition of log and topic. Defaults to 3. */
  readonly partition?: number;
}

/** A hash of one repeated byte. */
export const hashOf = (byte: string): Hex => `0x${byte.repeat(32)}`;

/** An open order as the projector publishes it. It is VALIDATING by default. */
export function entryRecord(orderHash: Hex, place: Place, given: Partial<BookEntry> = {}): KafkaRecord {
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
    position: { partition: place.partition ?? TOPIC_PARTITION, offset: String(place.offset) },
    causes: ['SUBMITTED'],
    status: 'VALIDATING',
    ...given,
  } as BookEntry;
  return recordOf(place, encodeBookRecord(entry, contextOf(place)));
}

/** The partition's clock after a block whose `BlockProcessed` is at the place. */
export function clockRecord(
  block: number,
  place: Place,
  timestamp = block,
  book?: BookDigest,
  log?: string,
): KafkaRecord {
  const position = { partition: place.partition ?? TOPIC_PARTITION, offset: String(place.offset + 1) };
  const ref = { number: block, hash: hashOf('bb'), timestamp };
  return recordOf(
    place,
    encodeBookRecord({ type: 'BookClock', block: ref, position, log, ...(book && { book }) }, contextOf(place)),
  );
}

export function tombstone(orderHash: Hex, removal: BookRemovalReason, place: Place): KafkaRecord {
  const position = { partition: place.partition ?? TOPIC_PARTITION, offset: String(place.offset) };
  const headers = bookRemovalHeaders(removal, `0x${'aa'.repeat(20)}`, position, contextOf(place));
  return { partition: position.partition, key: orderHash, value: null, headers };
}

function recordOf(
  { partition = TOPIC_PARTITION }: Place,
  { key, value, headers }: ReturnType<typeof encodeBookRecord>,
): KafkaRecord {
  return { partition, key: key ?? '', value, headers };
}

function contextOf({ offset, index = 0, partition = TOPIC_PARTITION }: Place) {
  return { id: `${partition}:${offset}:${index}`, source: '/makerbook/test', timeMs: 0 };
}
