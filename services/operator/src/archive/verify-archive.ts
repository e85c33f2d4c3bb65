import type { Log, StoredRecord } from '@makerbook/kafka';
import type { Outcome } from '../outcome.js';
import { describeRecord } from './archive-log.js';
import { type Archive, readParts, requireNewest } from './open-archive.js';

/**
 * Compares an archive with the log: its chain of parts, and each record with its offset, time, key, value and headers.
 * @param topic the name in Kafka, with the deployment's prefix
 * @returns the first difference of each partition; exit code 1 if there is one
 * @throws ArchiveBroken, LogUnavailable
 */
export async function verifyArchive(log: Log, topic: string, archive: Archive): Promise<Outcome> {
  const to = (await requireNewest(archive)).header.to.map(BigInt);
  const ends = await log.endOffsets(topic);
  const lines: string[] = [];
  const comparisons = to.map((offset, partition) => {
    const end = ends[partition] ?? 0n;
    if (end >= offset) return new Comparison(log, { topic, partition }, offset);
    lines.push(`partition ${partition} ends at ${end}, the archive at ${offset}`);
    return undefined;
  });
  let count = 0;
  for await (const part of readParts(archive)) {
    for (const record of part.records(topic)) {
      // A process that follows the log may have added parts since.
      if (record.offset < (to[record.partition] ?? 0n)) count += 1;
      await comparisons[record.partition]?.expect(record);
    }
  }
  for (const comparison of comparisons) {
    const difference = await comparison?.end();
    if (difference !== undefined) lines.push(difference);
  }
  if (lines.length > 0) return { lines, exitCode: 1 };
  const behind = ends.reduce((sum, end, partition) => sum + end - (to[partition] ?? 0n), 0n);
  return { lines: [`${count} records match the log, which has ${behind} more offsets`], exitCode: 0 };
}

/** Compares a partition with its archive, record by record, below an offset. */
export class Comparison {
  readonly #partition: number;
  readonly #to: bigint;
  readonly #stored: AsyncIterator<StoredRecord, undefined>;
  #difference: string | undefined;

  constructor(log: Pick<Log, 'readRange'>, place: { readonly topic: string; readonly partition: number }, to: bigint) {
    this.#partition = place.partition;
    this.#to = to;
    this.#stored = readStored(log, place, to);
  }

  /** Takes the next archived record. Ignores a record at the offset or beyond. */
  async expect(archived: StoredRecord): Promise<void> {
    if (archived.offset < this.#to) await this.#compare(archived);
  }

  /** Call it after the last archived record. @returns the first difference; undefined if there is none */
  async end(): Promise<string | undefined> {
    await this.#compare(undefined);
    return this.#difference;
  }

  async #compare(archived: StoredRecord | undefined): Promise<void> {
    if (this.#difference !== undefined) return;
    const { value: stored } = await this.#stored.next();
    const [inLog, inArchive] = [stored, archived].map((record) => (record ? describeRecord(record) : 'nothing'));
    if (inLog === inArchive) return;
    const offsets = [stored, archived].flatMap((record) => record?.offset ?? []);
    const [first] = offsets.sort((one, other) => (one < other ? -1 : 1));
    this.#difference = `partition ${this.#partition} differs at offset ${first}: the log has ${inLog}, the archive ${inArchive}`;
  }
}

async function* readStored(
  log: Pick<Log, 'readRange'>,
  place: { readonly topic: string; readonly partition: number },
  to: bigint,
): AsyncGenerator<StoredRecord, undefined> {
  if (to > 0n) for await (const { records } of log.readRange(place, 0n, to)) yield* records;
  return undefined;
}
