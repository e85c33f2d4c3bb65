import type { Log, StoredRecord, TopicPartition } from '@makerbook/kafka';
import type { Outcome } from '../outcome.js';
import type { ArchivedTopic } from './archive-log.js';
import { type ArchiveManifest, readSegment, requireManifest } from './segments.js';

/**
 * Compares an archive with the log: checksums, and each record with its offset, time, key, value and headers.
 * @returns the first difference of each partition; exit code 1 where there is one
 */
export async function verifyArchive(log: Log, { topic, name, folder }: ArchivedTopic): Promise<Outcome> {
  const archive = requireManifest(folder, name, await log.partitionsOf(topic));
  const ends = await log.endOffsets(topic);
  const lines: string[] = [];
  let behind = 0n;
  for (const [partition, end] of ends.entries()) {
    const to = BigInt(archive.to[partition] ?? 0);
    const difference =
      end < to
        ? `partition ${partition} ends at ${end}, the archive at ${to}`
        : await findDifference(log, archive, folder, { topic, partition }, to);
    if (difference !== undefined) lines.push(difference);
    behind += end > to ? end - to : 0n;
  }
  if (lines.length > 0) return { lines, exitCode: 1 };
  const count = archive.segments.reduce((sum, { records }) => sum + records, 0);
  return { lines: [`${count} records are the log's; it has ${behind} offsets beyond them`], exitCode: 0 };
}

/** The first difference of a partition from its archive, below an offset; undefined where there is none. */
export async function findDifference(
  log: Log,
  archive: ArchiveManifest,
  folder: string,
  place: TopicPartition,
  to: bigint,
): Promise<string | undefined> {
  const stored = readLive(log, place, to);
  const archived = readArchived(archive, folder, place, to);
  for (;;) {
    const [one, other] = [await stored.next(), archived.next()];
    if (one.done === true && other.done === true) return undefined;
    const [inLog, inArchive] = [one.value, other.value].map((record) =>
      record === undefined ? undefined : describe(record),
    );
    if (inLog === inArchive) continue;
    const where = [one.value?.offset, other.value?.offset]
      .filter((offset) => offset !== undefined)
      .sort((a, b) => (a < b ? -1 : 1))[0];
    return `partition ${place.partition} differs at offset ${where}: the log has ${inLog ?? 'nothing'}, the archive ${inArchive ?? 'nothing'}`;
  }
}

async function* readLive(log: Log, place: TopicPartition, to: bigint): AsyncGenerator<StoredRecord, undefined> {
  if (to > 0n) for await (const { records } of log.readRange(place, 0n, to)) yield* records;
  return undefined;
}

function* readArchived(
  { segments }: ArchiveManifest,
  folder: string,
  place: TopicPartition,
  to: bigint,
): Generator<StoredRecord, undefined> {
  for (const segment of segments) {
    if (segment.partition !== place.partition || BigInt(segment.from) >= to) continue;
    for (const record of readSegment(folder, segment, place)) if (record.offset < to) yield record;
  }
  return undefined;
}

const describe = ({ offset, timestampMs, key, value, headers }: StoredRecord): string =>
  JSON.stringify([String(offset), timestampMs, key, value?.toString('base64') ?? null, headers]);
