import { pause } from '@makerbook/contracts-primitives';
import type { Log, StoredRecord } from '@makerbook/kafka';
import { ArchiveBroken, type Part } from './encode-parts.js';
import { type Archive, addPart, mergeParts, type Newest, readNewest } from './open-archive.js';

export type Archiving = Awaited<ReturnType<typeof archiveLog>>;

/** Values and keys in one part. */
const PART_BYTES = 16 * 1024 * 1024;
/** Pause between two fetches, and between two parts. */
const FETCH_MS = 500;
const PART_MS = 2_000;
/** So many parts come before it is asked whether there are enough to merge. */
const MERGE_EVERY = 100;

/**
 * Adds to an archive what the log has beyond it, and goes on until it is stopped.
 * @param topic its name in Kafka, with the deployment's prefix
 * @param onFatal called where it cannot go on: another process adds parts, or the log has lost what is to be archived
 * @param onFault called where the log does not answer, or the store refuses a part; it is tried again
 * @throws ArchiveBroken where the archive is broken, or of another log; LogUnavailable
 */
export async function archiveLog(
  log: Log,
  topic: string,
  archive: Archive,
  { onFatal, onFault }: { readonly onFatal: (error: Error) => void; readonly onFault: (error: Error) => void },
) {
  if (archive.key?.type === 'public') throw new Error('ARCHIVE_KEY is a public key: it signs nothing');
  const newest = await readNewest(archive);
  await expectSameLog(log, topic, archive, newest);
  const from = endOf(archive, newest);
  const parts = new PartWriter(archive, newest, from);
  const following = log.followTopic({
    topic,
    from,
    isGapless: true,
    pauseMs: FETCH_MS,
    onFatal,
    onRecords: (partition, records) => parts.take(partition, records),
    onPosition: parts.moveTo,
  });
  let wholeAtMs = performance.now();
  const write = async () => {
    try {
      const askedAtMs = performance.now();
      const ends = await log.endOffsets(topic);
      await parts.write();
      if (parts.hasAll(ends)) wholeAtMs = askedAtMs;
      if (parts.added.parts % MERGE_EVERY === 0) await mergeParts(archive);
    } catch (error) {
      if (error instanceof ArchiveBroken) onFatal(error);
      else onFault(error as Error);
    }
  };
  const stopping = new AbortController();
  const writeAll = async () => {
    while (!stopping.signal.aborted) {
      await pause(PART_MS, stopping.signal);
      await write();
    }
  };
  const writing = writeAll();
  return {
    /** What has been added. */
    added: () => parts.added,
    /** Milliseconds by which the log may be ahead of the archive. */
    ageMs: () => performance.now() - wholeAtMs,
    /** Resolves when all has been read that the log had at the start. Never after `onFatal`. */
    caughtUp: following.caughtUp,
    /** Adds what has been read. */
    async stop(): Promise<void> {
      stopping.abort();
      await following.stop();
      await writing;
      await parts.write();
    },
  };
}

/** How far each partition is archived. */
const endOf = ({ partitions }: Archive, newest: Newest | undefined): bigint[] =>
  newest?.header.to.map(BigInt) ?? new Array<bigint>(partitions).fill(0n);

/** The newest archived record is the log's, too. */
async function expectSameLog(log: Log, topic: string, archive: Archive, newest: Part | undefined): Promise<void> {
  const ends = await log.endOffsets(topic);
  for (const [partition, to] of endOf(archive, newest).entries()) {
    const end = ends[partition] ?? 0n;
    if (end < to)
      throw new ArchiveBroken(
        `partition ${partition} ends at ${end}, and not at ${to} as ${archive.store.name} has it: it is of another log`,
      );
  }
  const archived = newest?.records(topic).at(-1);
  if (archived === undefined) return;
  const { partition, offset } = archived;
  const stored = (await log.readRecords({ topic, partition }, [offset])).get(offset);
  if (stored === undefined || describeRecord(stored) !== describeRecord(archived))
    throw new ArchiveBroken(
      `partition ${partition} has another record at ${offset} than ${archive.store.name}: it is of another log`,
    );
}

/** A record as text: that of the log and that of the archive are the same one where these are. */
export const describeRecord = ({ offset, timestampMs, key, value, headers }: StoredRecord): string =>
  JSON.stringify([String(offset), timestampMs, key, value?.toString('base64') ?? null, headers]);

/** Gathers records, and adds them to the archive part by part. */
class PartWriter {
  readonly #archive: Archive;
  readonly #to: bigint[];
  readonly added = { parts: 0, records: 0, newestMs: 0 };
  #newest: Newest | undefined;
  #records: StoredRecord[] = [];
  #bytes = 0;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(archive: Archive, newest: Newest | undefined, from: readonly bigint[]) {
    this.#archive = archive;
    this.#newest = newest;
    this.#to = [...from];
  }

  /** Waits while a whole part waits to be stored. */
  async take(partition: number, records: readonly StoredRecord[]): Promise<void> {
    for (const record of records) {
      this.#records.push(record);
      this.#bytes += record.key.length + (record.value?.length ?? 0);
      this.#to[partition] = record.offset + 1n;
    }
    if (this.#bytes >= PART_BYTES) await this.write();
  }

  /** Whether all records before these offsets are archived. */
  hasAll(ends: readonly bigint[]): boolean {
    return ends.every((end, partition) => BigInt(this.#newest?.header.to[partition] ?? 0) >= end);
  }

  readonly moveTo = (partition: number, nextOffset: bigint): void => {
    this.#to[partition] = nextOffset;
  };

  /** Adds a part with all that waits. What cannot be stored goes on waiting. */
  write(): Promise<void> {
    const written = this.#writing.then(() => this.#write());
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(): Promise<void> {
    const [records, bytes, to] = [this.#records, this.#bytes, [...this.#to]];
    if (this.hasAll(to)) return;
    [this.#records, this.#bytes] = [[], 0];
    try {
      this.#newest = await addPart(this.#archive, this.#newest, { to, records });
    } catch (error) {
      this.#records = [...records, ...this.#records];
      this.#bytes += bytes;
      throw error;
    }
    const { added } = this;
    added.parts += 1;
    added.records += records.length;
    added.newestMs = records.reduce((newest, { timestampMs }) => Math.max(newest, timestampMs), added.newestMs);
  }
}
