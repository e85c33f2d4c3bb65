/** One record of a list, with the numbers by which it is paged and hidden. */
export interface ListRecord {
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

/** Joins records in their order: one allocation, one copy of each. */
export function joinRecords(version: bigint, records: readonly ListRecord[]): JoinedList {
  const joined = records.flatMap(({ json }, index) => (index === 0 ? [json] : [COMMA, json]));
  const body = Buffer.concat([OPEN, ...joined, CLOSE]);
  return { version, body, records: divide(body, records, ({ json }) => json.length) };
}

/** A list as Redis holds it: a line with the version and, of each record, offset, expiry and bytes; then the body. */
export function encodeList({ version, body, records }: JoinedList): Buffer {
  const figures = records.map(({ acceptedOffset, expiresAtSeconds, json }): Figures => {
    return [acceptedOffset, expiresAtSeconds, json.length];
  });
  return Buffer.concat([Buffer.from(`${JSON.stringify([String(version), figures])}\n`), body]);
}

export function decodeList(value: Buffer): JoinedList {
  const end = value.indexOf('\n');
  const [version, figures] = JSON.parse(value.toString('latin1', 0, end)) as [string, Figures[]];
  const body = value.subarray(end + 1);
  const records = figures.map(([acceptedOffset, expiresAtSeconds, bytes]) => {
    return { acceptedOffset, expiresAtSeconds, bytes };
  });
  return { version: BigInt(version), body, records: divide(body, records, ({ bytes }) => bytes) };
}

type Figures = [acceptedOffset: number, expiresAtSeconds: number, bytes: number];

/** The records of a body, by their lengths. */
function divide<T extends Omit<ListRecord, 'json'>>(
  body: Buffer,
  records: readonly T[],
  lengthOf: (record: T) => number,
): ListRecord[] {
  let from = 1;
  return records.map((record) => {
    const to = from + lengthOf(record);
    const json = body.subarray(from, to);
    from = to + 1;
    return { acceptedOffset: record.acceptedOffset, expiresAtSeconds: record.expiresAtSeconds, json };
  });
}
