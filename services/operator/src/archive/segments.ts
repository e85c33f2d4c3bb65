import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { StoredRecord, TopicPartition } from '@makerbook/kafka';
import { makeFolder } from '@makerbook/settings';
import { z } from 'zod';

/** A file of an archive: consecutive records of one partition, a line of JSON each, compressed. */
const segment = z.strictObject({
  file: z.string().regex(/^\d+\/\d{20}\.jsonl\.gz$/),
  partition: z.int().min(0),
  /** The offset of the first record, and the one behind the last: control records count. */
  from: z.string().regex(/^\d+$/),
  to: z.string().regex(/^\d+$/),
  records: z.int().min(1),
  sha256: z.string().length(64),
});
export type Segment = z.infer<typeof segment>;

const manifest = z.strictObject({
  format: z.literal(1),
  /** Without the deployment's prefix. */
  topic: z.string(),
  partitions: z.int().min(1),
  /** How far each partition is archived: what is between its last segment and here are control records. */
  to: z.array(z.string().regex(/^\d+$/)),
  segments: z.array(segment),
});
export type ArchiveManifest = z.infer<typeof manifest>;

const line = z.tuple([
  z.string().regex(/^\d+$/),
  z.int(),
  z.string(),
  // A value that is no text is in base64; null is a tombstone.
  z.union([z.string(), z.strictObject({ base64: z.string() }), z.null()]),
  z.record(z.string(), z.string()),
]);

const MANIFEST = 'manifest.json';

/** An archive whose files are not what its manifest says. */
export class ArchiveBroken extends Error {
  override readonly name = 'ArchiveBroken';
}

/** The manifest of a topic's archive. @throws ArchiveBroken likewise, and where the folder has none */
export function requireManifest(folder: string, topic: string, partitions: number): ArchiveManifest {
  const found = readManifest(folder, topic, partitions);
  if (found === undefined) throw new ArchiveBroken(`${folder} holds no archive`);
  return found;
}

/**
 * The manifest of a topic's archive; undefined where the folder has none.
 * @throws ArchiveBroken where it cannot be read, or is of another topic
 */
export function readManifest(folder: string, topic: string, partitions: number): ArchiveManifest | undefined {
  const found = parseManifest(folder);
  if (found !== undefined && (found.topic !== topic || found.partitions !== partitions))
    throw new ArchiveBroken(`${folder} is the archive of ${found.topic} with ${found.partitions} partitions`);
  return found;
}

function parseManifest(folder: string): ArchiveManifest | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, MANIFEST), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return manifest.parse(JSON.parse(text));
  } catch (error) {
    throw new ArchiveBroken(`${join(folder, MANIFEST)} cannot be read: ${(error as Error).message}`);
  }
}

/** Replaces the manifest whole: an archive is as its manifest says, whatever else lies in its folder. */
export function writeManifest(folder: string, content: ArchiveManifest): void {
  writeWhole(join(folder, MANIFEST), Buffer.from(`${JSON.stringify(content, null, 1)}\n`));
}

/** Writes records of a partition, at least one, as a segment. */
export function writeSegment(folder: string, records: readonly StoredRecord[]): Segment {
  const [first, last] = [records[0], records.at(-1)];
  if (first === undefined || last === undefined) throw new Error('a segment has at least one record');
  const lines = records.map(({ offset, timestampMs, key, value, headers }) =>
    JSON.stringify([String(offset), timestampMs, key, textOf(value), headers] satisfies z.infer<typeof line>),
  );
  const bytes = gzipSync(lines.join('\n'));
  const file = `${first.partition}/${String(first.offset).padStart(20, '0')}.jsonl.gz`;
  writeWhole(join(folder, file), bytes);
  const range = { from: String(first.offset), to: String(last.offset + 1n), records: records.length };
  return { file, partition: first.partition, ...range, sha256: sumOf(bytes) };
}

/** The records of a segment, for a topic of any name. @throws ArchiveBroken where the file is missing or another one */
export function readSegment(folder: string, { file, sha256, records }: Segment, place: TopicPartition): StoredRecord[] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(join(folder, file));
  } catch (error) {
    throw new ArchiveBroken(`${file} cannot be read: ${(error as Error).message}`);
  }
  if (sumOf(bytes) !== sha256) throw new ArchiveBroken(`${file} is not the file that was written: its SHA-256 differs`);
  const read = gunzipSync(bytes)
    .toString('utf8')
    .split('\n')
    .map((text) => line.parse(JSON.parse(text)));
  if (read.length !== records) throw new ArchiveBroken(`${file} has ${read.length} records, not ${records}`);
  return read.map(([offset, timestampMs, key, value, headers]) => {
    return { ...place, offset: BigInt(offset), timestampMs, key, value: bytesOf(value), headers };
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

const sumOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** The file appears whole, and is on the disk. */
function writeWhole(file: string, bytes: Buffer): void {
  makeFolder(dirname(file));
  const unfinished = `${file}.unfinished`;
  const descriptor = openSync(unfinished, 'w');
  try {
    writeSync(descriptor, bytes);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(unfinished, file);
}
