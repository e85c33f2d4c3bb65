import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { StoredRecord } from '@makerbook/kafka';
import { z } from 'zod';

/** Bytes of a record besides its texts. */
const RECORD_BYTES = 200;

const offsets = z.array(z.string().regex(/^\d+$/)).min(1);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The first line of a part. Its SHA-256 is the part's id. The next part names it, so the parts are a chain. */
const header = z.strictObject({
  format: z.literal(2),
  /** The name of the topic, without the deployment's prefix. */
  topic: z.string(),
  /** 1 for the first part. */
  number: z.int().min(1),
  /** The id of the part before; null for the first. */
  previous: sha256.nullable(),
  /** The next offset of each partition, before this part and after it. Control records count. */
  from: offsets,
  to: offsets,
  records: z.int().min(0),
  /** Length and SHA-256 of what follows the signature: lines of JSON, compressed. */
  bytes: z.int().min(1),
  sha256,
});
export type PartHeader = z.infer<typeof header>;

/** Consecutive records of each partition, as they are stored in the archive. */
export interface Part {
  readonly header: PartHeader;
  readonly id: string;
  /** The records, for a topic of any name; those of one partition in order. @throws ArchiveBroken */
  records(topic: string): StoredRecord[];
}

const line = z.tuple([
  z.int(),
  z.string().regex(/^\d+$/),
  z.int(),
  z.string(),
  // A value that is no text is in base64; null is a tombstone.
  z.union([z.string(), z.strictObject({ base64: z.string() }), z.null()]),
  z.record(z.string(), z.string()),
]);

const NEWLINE = 10;

/** The archive is not what was written, or is of another log. */
export class ArchiveBroken extends Error {
  override readonly name = 'ArchiveBroken';
}

/**
 * Encodes a part: its header, the signature of the header, and the records.
 * @param key signs it by Ed25519; undefined: it has no signature
 */
export function encodePart(
  place: Pick<PartHeader, 'topic' | 'number' | 'previous' | 'from' | 'to'>,
  records: readonly StoredRecord[],
  key: KeyObject | undefined,
): { readonly id: string; readonly bytes: Buffer } {
  const lines = records.map(({ partition, offset, timestampMs, key: of, value, headers }) =>
    JSON.stringify([partition, String(offset), timestampMs, of, textOf(value), headers] satisfies z.infer<typeof line>),
  );
  const body = gzipSync(lines.join('\n'));
  const first = JSON.stringify({
    format: 2,
    ...place,
    records: records.length,
    bytes: body.length,
    sha256: sumOf(body),
  } satisfies PartHeader);
  const signature = key === undefined ? '' : sign(null, Buffer.from(first), key).toString('base64');
  return { id: sumOf(first), bytes: Buffer.concat([Buffer.from(`${first}\n${signature}\n`), body]) };
}

/**
 * Decodes the parts of a file, which holds one, or several in order.
 * @param key must have signed them; undefined: signatures are not checked
 * @throws ArchiveBroken
 */
export function* decodeParts(file: string, bytes: Buffer, key: KeyObject | undefined): Generator<Part> {
  const publicKey = key?.type === 'private' ? createPublicKey(key) : key;
  for (let at = 0; at < bytes.length; ) {
    const [first, signature] = [readLine(bytes, at), readLine(bytes, bytes.indexOf(NEWLINE, at) + 1)];
    const described = parseHeader(file, first);
    const where = `part ${described.number} in ${file}`;
    if (publicKey !== undefined && !verify(null, Buffer.from(first), publicKey, Buffer.from(signature, 'base64')))
      throw new ArchiveBroken(`${where} is not signed by the key`);
    at += Buffer.byteLength(first) + signature.length + 2;
    const body = bytes.subarray(at, at + described.bytes);
    if (sumOf(body) !== described.sha256)
      throw new ArchiveBroken(`${where} is not what was written: its SHA-256 differs`);
    at += described.bytes;
    yield { header: described, id: sumOf(first), records: (topic) => decodeRecords(body, described, topic) };
  }
}

function readLine(bytes: Buffer, at: number): string {
  return bytes.toString('utf8', at, Math.max(at, bytes.indexOf(NEWLINE, at)));
}

function parseHeader(file: string, text: string): PartHeader {
  try {
    return header.parse(JSON.parse(text));
  } catch (error) {
    throw new ArchiveBroken(`${file} cannot be read: ${(error as Error).message}`);
  }
}

function decodeRecords(body: Buffer, { records, number, from, to }: PartHeader, topic: string): StoredRecord[] {
  const text = gunzipSync(body).toString('utf8');
  const read = text === '' ? [] : text.split('\n').map((each) => line.parse(JSON.parse(each)));
  if (read.length !== records) throw new ArchiveBroken(`part ${number} has ${read.length} records, not ${records}`);
  const next = from.map(BigInt);
  return read.map(([partition, text, timestampMs, key, value, headers]) => {
    const offset = BigInt(text);
    const [first, end] = [next[partition], to[partition]];
    if (first === undefined || end === undefined || offset < first || offset >= BigInt(end))
      throw new ArchiveBroken(
        `part ${number} has a record of partition ${partition} at ${text}, which is not its place`,
      );
    next[partition] = offset + 1n;
    return { topic, partition, offset, timestampMs, key, value: bytesOf(value), headers };
  });
}

function textOf(value: Buffer | null): string | { base64: string } | null {
  if (value === null) return null;
  const text = value.toString('utf8');
  return Buffer.from(text).equals(value) ? text : { base64: value.toString('base64') };
}

function bytesOf(value: string | { base64: string } | null): Buffer | null {
  if (value === null) return null;
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.base64, 'base64');
}

const sumOf = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

/** Estimates the bytes that a record takes in memory, or in a batch. */
export function sizeOf({ key, value, headers }: Pick<StoredRecord, 'key' | 'value' | 'headers'>): number {
  return RECORD_BYTES + key.length + (value?.length ?? 0) + JSON.stringify(headers).length;
}
