import type { Hex } from '@makerbook/contracts-primitives';

/** One record of a list, with what it is found, paged and hidden by. */
export interface ListRecord {
  readonly orderHash: Hex;
  readonly acceptedOffset: number;
  /** The second from which it is expired. */
  readonly expiresAtSeconds: number;
  /** The listed record. */
  readonly json: Buffer;
}

/** A maker's list as it is served. The version is the offset of the fact that changed it last, so it names one list for ever. */
export interface JoinedList {
  readonly version: bigint;
  /** A JSON array of the records. */
  readonly body: Buffer;
  /** Oldest acceptance first. Each `json` is a part of `body`, and takes no memory of its own. */
  readonly records: readonly ListRecord[];
}

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** Joins records in their order. Those that are neighbours in another body already are copied as one piece. */
export function joinRecords(version: bigint, records: readonly ListRecord[]): JoinedList {
  const pieces: Uint8Array[] = [OPEN];
  let bytes: Uint8Array = new Uint8Array();
  let [from, to] = [0, 0];
  const endPiece = () => {
    if (to > 0) pieces.push(bytes.subarray(from, to), COMMA);
  };
  for (const { json } of records) {
    // Small buffers share memory: a comma between two of them makes them neighbours.
    const isNext = bytes.buffer === json.buffer && json.byteOffset === to + 1 && bytes[to] === COMMA[0];
    if (!isNext) {
      endPiece();
      if (bytes.buffer !== json.buffer) bytes = new Uint8Array(json.buffer);
      from = json.byteOffset;
    }
    to = json.byteOffset + json.length;
  }
  endPiece();
  const body = Buffer.concat([...pieces.slice(0, Math.max(1, pieces.length - 1)), CLOSE]);
  return { version, body, records: divide(body, records) };
}

/** The records as parts of the body that they were joined to. */
function divide(body: Buffer, records: readonly ListRecord[]): ListRecord[] {
  let from = 1;
  return records.map(({ orderHash, acceptedOffset, expiresAtSeconds, json: { length } }) => {
    const json = body.subarray(from, from + length);
    from += length + 1;
    return { orderHash, acceptedOffset, expiresAtSeconds, json };
  });
}
