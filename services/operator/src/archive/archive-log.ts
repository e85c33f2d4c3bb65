import type { Log, StoredRecord } from '@makerbook/kafka';
import type { Outcome } from '../outcome.js';
import {
  ArchiveBroken,
  type ArchiveManifest,
  readManifest,
  type Segment,
  writeManifest,
  writeSegment,
} from './segments.js';

/** Where the log is, and its archive. */
export interface ArchivedTopic {
  /** Its name in Kafka, with the deployment's prefix. */
  readonly topic: string;
  /** Its name in the archive, without the prefix. */
  readonly name: string;
  readonly folder: string;
}

/** Values and keys in one segment. */
const SEGMENT_BYTES = 16 * 1024 * 1024;

/**
 * Adds to an archive what the log has beyond it: new segments, and then a manifest that names them. A run that breaks
 * off leaves the archive as it was.
 * @throws ArchiveBroken where the archive is of another log; FatalError where the log has lost what is to be archived;
 * LogUnavailable
 */
export async function archiveLog(log: Log, { topic, name, folder }: ArchivedTopic): Promise<Outcome> {
  const partitions = await log.partitionsOf(topic);
  const before = readManifest(folder, name, partitions) ?? emptyManifest(name, partitions);
  const ends = await log.endOffsets(topic);
  const segments: Segment[] = [];
  const to: string[] = [];
  let newestMs = 0;
  for (const [partition, end] of ends.entries()) {
    const from = BigInt(before.to[partition] ?? 0);
    if (from > end)
      throw new ArchiveBroken(
        `partition ${partition} ends at ${end}, and ${folder} has it up to ${from}: it is of another log`,
      );
    for await (const records of readSegments(log, { topic, partition }, from, end)) {
      segments.push(writeSegment(folder, records));
      newestMs = Math.max(newestMs, records.at(-1)?.timestampMs ?? 0);
    }
    to.push(String(end));
  }
  writeManifest(folder, { ...before, to, segments: [...before.segments, ...segments] });
  const count = segments.reduce((sum, { records }) => sum + records, 0);
  const newest = count === 0 ? '' : `, the newest of ${new Date(newestMs).toISOString()}`;
  return { lines: [`${count} records in ${segments.length} segments${newest}`], exitCode: 0 };
}

const emptyManifest = (topic: string, partitions: number): ArchiveManifest => ({
  format: 1,
  topic,
  partitions,
  to: Array.from({ length: partitions }, () => '0'),
  segments: [],
});

async function* readSegments(
  log: Log,
  place: { readonly topic: string; readonly partition: number },
  from: bigint,
  to: bigint,
): AsyncGenerator<readonly StoredRecord[]> {
  let records: StoredRecord[] = [];
  let bytes = 0;
  for await (const piece of log.readRange(place, from, to)) {
    for (const record of piece.records) {
      records.push(record);
      bytes += record.key.length + (record.value?.length ?? 0);
    }
    if (bytes < SEGMENT_BYTES) continue;
    yield records;
    [records, bytes] = [[], 0];
  }
  if (records.length > 0) yield records;
}
