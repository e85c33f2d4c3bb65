import type { Hex } from '@makerbook/contracts-primitives';

/** One record of a list, with the fields that find, page and hide it. */
export interface ListRecord {
  readonly orderHash: Hex;
  readonly acceptedOffset: number;
  /** Unix seconds. The order is expired from then on. */
  readonly expiresAtSeconds: number;
  /** The record in JSON, as it is listed. */
  readonly json: Buffer;
}

/** A maker's list as it is served. The version identifies it: the offset of the fact that changed the list last. */
export interface JoinedList {
  readonly version: bigint;
  /** A JSON array of the records. */
  readonly body: Buffer;
  /** Oldest acceptance first. Each `json` is a part of `body`, and takes no memory of its own. */
  readonly records: readonly ListRecord[];
}

const OPEN = 0x5b;
const COMMA = 0x2c;

/** Joins records in their order. */
export function joinRecords(version: bigint, records: readonly ListRecord[]): JoinedList {
  const length = records.reduce((sum, { json }) => sum + json.length + 1, 1);
  const body = Buffer.allocUnsafe(Math.max(2, length));
  let at = 0;
  const joined = records.map(({ orderHash, acceptedOffset, expiresAtSeconds, json }) => {
    body[at] = at === 0 ? OPEN : COMMA;
    const from = at + 1;
    body.set(json, from);
    at = from + json.length;
    return { orderHash, acceptedOffset, expiresAtSeconds, json: body.subarray(from, at) };
  });
  body.fill(records.length === 0 ? '[]' : ']', at);
  return { version, body, records: joined };
}
