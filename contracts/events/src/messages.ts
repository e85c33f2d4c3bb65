import type { Address } from '@makerbook/contracts-primitives';
import { z } from 'zod';
import {
  type BookAcknowledged,
  type BookEntry,
  type BookRecord,
  type BookRemovalReason,
  bookAcknowledged,
  bookRecord,
  type Fill,
  fill,
  type LogPosition,
  type MakersRecord,
  makersRecord,
} from './feeds.js';
import { type MakerEvent, makerEvent } from './maker-events.js';
import { type Data, readEntryStraight, readFactStraight } from './read-straight.js';

/** The metadata of a message: the CloudEvents attributes and the W3C trace context. */
export interface MessageContext {
  /** Unique for (`source`, `id`). The same fact always has the same id, so readers recognise a repeat. */
  id: string;
  /** Which service wrote it, e.g. `/makerbook/ingress`. */
  source: string;
  /** Milliseconds since 1970. */
  timeMs: number;
  /** W3C `traceparent`, `tracestate` and `baggage`, as far as present. */
  trace?: TraceHeaders;
  /** The latest time that the record of a fact may have in the log. See `isTooLate`. */
  storedByMs?: number | undefined;
}

/** The headers that continue a trace. */
export type TraceHeaders = Readonly<Record<string, string>>;

const traceHeaders = ['traceparent', 'tracestate', 'baggage'] as const;

/** A message in the binary mode of the CloudEvents 1.0 Kafka binding: attributes in headers, data in the value. */
export interface Message {
  key: string | null;
  value: Buffer;
  headers: Record<string, string>;
}

/** A message that cannot be read. `unreadable`: place and reason, for the person who looks at the parked message. */
export interface Unreadable {
  unreadable: string;
}

const version = 'v1';
const prefix = 'makerbook.';

/** `OrderSubmitted` → `makerbook.OrderSubmitted.v1` */
export const ceType = (type: string): string => `${prefix}${type}.${version}`;

/** The message of a fact. A fact about the whole partition or service has no key. */
export function encodeMakerEvent(event: MakerEvent, context: MessageContext): Message {
  const { type, ...data } = event;
  return encode(type, 'maker' in event ? event.maker : null, data, context);
}

/** The message of an order or of the clock; `limit-orders.book.v1`. */
export function encodeBookRecord(record: BookRecord, context: MessageContext): Message {
  if (record.type === 'BookEntry') {
    const { type, orderHash } = record;
    return { key: orderHash, value: Buffer.from(textOfEntry(record)), headers: messageHeaders(type, context) };
  }
  const { type, ...data } = record;
  return encode(type, bookClockKey(record.position.partition), data, context);
}

/** Writes what `JSON.stringify` would, in half of the time. No text in an entry needs an escape. */
function textOfEntry(entry: BookEntry): string {
  const { orderHash, order, signature, remainingMakingAmount, routableUntil, acceptedAtMs, position, causes } = entry;
  const { salt, nonce, expiresAt, making, taking, maker, permittedTaker } = order;
  const amountOf = ({ token, amount }: typeof making) => `{"token":"${token}","amount":"${amount}"}`;
  const amounts = `"making":${amountOf(making)},"taking":${amountOf(taking)}`;
  const body = `{"salt":"${salt}","nonce":"${nonce}","expiresAt":"${expiresAt}",${amounts},"maker":"${maker}","permittedTaker":"${permittedTaker}"}`;
  const times = `"remainingMakingAmount":"${remainingMakingAmount}","routableUntil":${routableUntil},"acceptedAtMs":${acceptedAtMs}`;
  const place = `"position":{"partition":${position.partition},"offset":"${position.offset}"}`;
  const start = `{"orderHash":"${orderHash}","order":${body},"signature":"${signature}",${times},${place}`;
  const listed = causes.map((cause) => `"${cause}"`).join(',');
  return `${start},"causes":[${listed}],"status":"${entry.status}"${endOfEntry(entry)}`;
}

function endOfEntry(entry: BookEntry): string {
  if (entry.status === 'VALIDATING') return '}';
  const { balance, allowance, block } = entry.funding;
  const reason = entry.status === 'INACTIVE' ? `,"reason":"${entry.reason}"` : '';
  return `${reason},"funding":{"balance":"${balance}","allowance":"${allowance}","block":${block}}}`;
}

/** The key of a partition's clock in `limit-orders.book.v1`. */
export function bookClockKey(partition: number): string {
  return `clock:${partition}`;
}

/** The headers of a tombstone of the book: why the order left, its maker, and the fact that led to the tombstone. */
export function bookRemovalHeaders(
  removal: BookRemovalReason,
  maker: Address,
  position: LogPosition,
  context: MessageContext,
): Record<string, string> {
  return {
    ...messageHeaders('BookEntryRemoved', context),
    removal,
    maker,
    position_partition: String(position.partition),
    position_offset: position.offset,
  };
}

/** The message of a fill; `limit-orders.fills.v1`. */
export function encodeFill(record: Fill, context: MessageContext): Message {
  const { type, ...data } = record;
  return encode(type, fillKey(record), data, context);
}

/** The key of a fill in `limit-orders.fills.v1`: a log has one place in one block. */
export function fillKey({ blockNumber, logIndex }: Pick<Fill, 'blockNumber' | 'logIndex'>): string {
  return `${blockNumber}:${logIndex}`;
}

/** The message of a maker's record, or of the service's; `limit-orders.makers.v1`. */
export function encodeMakersRecord(record: MakersRecord, context: MessageContext): Message {
  const { type, ...data } = record;
  return encode(type, record.type === 'ServiceView' ? serviceKey : record.maker, data, context);
}

/** The message of a router that has applied its book; `limit-orders.acks.v1`. */
export function encodeAcknowledged(record: BookAcknowledged, context: MessageContext): Message {
  const { type, ...data } = record;
  return encode(type, `${record.router}:${record.position.partition}`, data, context);
}

/** The key of the service's record in `limit-orders.makers.v1`. */
export const serviceKey = 'service';

/** The partition that holds facts about the whole service. */
export const servicePartition = 0;

/**
 * Reads a message of `limit-orders.maker-events.v1`, or returns why it cannot be read. Leaves out unknown fields
 * because a newer version may add some. Does not read an unknown type: nobody can guess what such a fact does to an
 * order.
 */
export function decodeMakerEvent(
  message: Pick<Message, 'headers'> & { value: Buffer | null },
): MakerEvent | Unreadable {
  return decode(makerEvent, message, readFactStraight);
}

/**
 * Tells why a fact is in the wrong place, for the person who looks at the parked message; undefined if it is not. A
 * maker's facts belong to the maker's partition, or their sequence means nothing. They concern no other maker's order.
 * @param homeOf the partition of a maker
 */
export function misplacement(
  fact: MakerEvent,
  partition: number,
  homeOf: (maker: string) => number,
): string | undefined {
  if (fact.type === 'BlockProcessed') return undefined;
  if (!('maker' in fact)) {
    return partition === servicePartition ? undefined : `a ${fact.type} belongs to partition 0, not ${partition}`;
  }
  const home = homeOf(fact.maker);
  if (home !== partition) return `a fact about ${fact.maker} belongs to partition ${home}, not ${partition}`;
  if (fact.type === 'OrderSubmitted' && fact.order.maker !== fact.maker) {
    return `the order is ${fact.order.maker}'s, the fact is about ${fact.maker}`;
  }
  return undefined;
}

/** Reads a message of `limit-orders.book.v1` that is not a tombstone, or returns why it cannot be read. */
export function decodeBookRecord(
  message: Pick<Message, 'headers'> & { value: Buffer | string | null },
): BookRecord | Unreadable {
  return decode<BookRecord>(bookRecord, message, readEntryStraight);
}

/** Reads a message of `limit-orders.fills.v1`, or returns why it cannot be read. */
export function decodeFill(message: Pick<Message, 'headers'> & { value: Buffer | string | null }): Fill | Unreadable {
  return decode(fill, message);
}

/** Reads a message of `limit-orders.makers.v1`, or returns why it cannot be read. */
export function decodeMakersRecord(
  message: Pick<Message, 'headers'> & { value: Buffer | null },
): MakersRecord | Unreadable {
  return decode(makersRecord, message);
}

/** Reads a message of `limit-orders.acks.v1`, or returns why it cannot be read. */
export function decodeAcknowledged(
  message: Pick<Message, 'headers'> & { value: Buffer | null },
): BookAcknowledged | Unreadable {
  return decode(bookAcknowledged, message);
}

/** The header that tells by when a fact must be in the log, in milliseconds since 1970. */
export const STORED_BY = 'stored_by';

/**
 * Tells whether a fact reached the log after its writer had given it up. Skip such a fact. A broker may store a record
 * minutes after it got it. By then a cancellation may have had the answer that the order is unknown.
 */
export function isTooLate({ headers, timestampMs }: TimedMessage): boolean {
  const storedBy = headers[STORED_BY];
  return storedBy !== undefined && timestampMs > Number(storedBy);
}

/** A message as it was read, with the time of its record by the broker's clock, in milliseconds since 1970. */
export interface TimedMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly timestampMs: number;
}

/** The trace that a message belongs to. Messages that it leads to carry the same headers. */
export function traceOf(headers: Readonly<Record<string, string>>): TraceHeaders {
  const trace: Record<string, string> = {};
  for (const name of traceHeaders) {
    const value = headers[name];
    if (value !== undefined) trace[name] = value;
  }
  return trace;
}

/** The headers of every message, tombstones included. */
export function messageHeaders(type: string, context: MessageContext): Record<string, string> {
  return {
    ce_specversion: '1.0',
    ce_id: context.id,
    ce_type: ceType(type),
    ce_source: context.source,
    ce_time: new Date(context.timeMs).toISOString(),
    'content-type': 'application/json',
    ...(context.storedByMs !== undefined && { [STORED_BY]: String(context.storedByMs) }),
    ...context.trace,
  };
}

function encode(type: string, key: string | null, data: object, context: MessageContext): Message {
  return { key, value: Buffer.from(JSON.stringify(data)), headers: messageHeaders(type, context) };
}

function decode<T>(
  schema: z.ZodType<T>,
  { headers, value }: Pick<Message, 'headers'> & { value: Buffer | string | null },
  readStraight: (type: string, data: Data) => T | undefined = () => undefined,
): T | Unreadable {
  const name = headers['ce_type'];
  if (name === undefined) return { unreadable: 'the header ce_type is missing' };
  if (!name.startsWith(prefix) || !name.endsWith(`.${version}`))
    return { unreadable: `ce_type ${name} is not known here` };
  if (value === null) return { unreadable: 'the value is empty' };
  let data: unknown;
  try {
    data = JSON.parse(String(value));
  } catch (error) {
    return { unreadable: `the value is not JSON: ${(error as Error).message}` };
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    return { unreadable: 'the value is not an object' };
  const type = name.slice(prefix.length, -version.length - 1);
  const read = readStraight(type, data as Data);
  if (read !== undefined) return read;
  const parsed = schema.safeParse({ ...data, type });
  return parsed.success ? parsed.data : { unreadable: `${type}: ${z.prettifyError(parsed.error)}` };
}
