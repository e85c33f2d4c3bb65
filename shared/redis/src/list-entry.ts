import type { Hex } from '@makerbook/contracts-primitives';

const OFFSET_DIGITS = 20;
const SECONDS_DIGITS = 16;
const HEADER_BYTES = OFFSET_DIGITS + SECONDS_DIGITS;
const OPEN = '['.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const CLOSE = ']'.charCodeAt(0);

/** One order of a maker's list. */
export interface ListedOrder {
  readonly orderHash: Hex;
  readonly acceptedOffset: bigint;
  /** The second from which it is expired; at most 2^53 - 1. */
  readonly expiresAtSeconds: number;
  /** The whole record as it is listed (Interface 2.3). */
  readonly json: string;
}

/** A record with what it is sorted and hidden by in front: so that it need not be parsed to be served. */
export function encodeListEntry(order: Omit<ListedOrder, 'orderHash'>): string {
  const offset = String(order.acceptedOffset).padStart(OFFSET_DIGITS, '0');
  return `${offset}${String(order.expiresAtSeconds).padStart(SECONDS_DIGITS, '0')}${order.json}`;
}

/** An order's record as it is listed, and its place among the others. */
export interface ListedRecord {
  readonly acceptedOffset: number;
  readonly record: Buffer;
}

/** A JSON array of records that were serialised before; `records` are parts of `body`, and take no memory of their own. */
export interface JoinedRecords {
  readonly body: Buffer;
  readonly records: readonly ListedRecord[];
}

/** The records of the entries that are not expired at `nowSeconds`, oldest acceptance first. */
export function joinEntries(entries: readonly Buffer[], nowSeconds: number): JoinedRecords {
  const records = entries
    .filter((entry) => readDigits(entry, OFFSET_DIGITS, HEADER_BYTES) > nowSeconds)
    .map((entry) => ({ acceptedOffset: readDigits(entry, 0, OFFSET_DIGITS), record: entry.subarray(HEADER_BYTES) }))
    .sort((a, b) => a.acceptedOffset - b.acceptedOffset);
  return joinRecords(records);
}

/** Joins records in their order: one allocation, one copy of each. */
export function joinRecords(records: readonly ListedRecord[]): JoinedRecords {
  const separators = Math.max(0, records.length - 1);
  const body = Buffer.allocUnsafe(records.reduce((sum, { record }) => sum + record.length, 2 + separators));
  body[0] = OPEN;
  let at = 1;
  const parts = records.map(({ acceptedOffset, record }, index) => {
    if (index > 0) body[at++] = COMMA;
    const from = at;
    at += record.copy(body, at);
    return { acceptedOffset, record: body.subarray(from, at) };
  });
  body[at] = CLOSE;
  return { body, records: parts };
}

/** The second at which the next of the entries expires; Infinity when none will. */
export function nextExpiryOf(entries: readonly Buffer[], nowSeconds: number): number {
  let next = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const expiresAtSeconds = readDigits(entry, OFFSET_DIGITS, HEADER_BYTES);
    if (expiresAtSeconds > nowSeconds) next = Math.min(next, expiresAtSeconds);
  }
  return next;
}

/** Exact to 2^53, which no offset and no time reaches. */
function readDigits(bytes: Buffer, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) value = value * 10 + ((bytes[at] ?? 0) - 0x30);
  return value;
}
