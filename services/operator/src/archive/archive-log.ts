import { pause } from '@makerbook/contracts-primitives';
import { type Log, RESTORED_HEADER, type StoredRecord } from '@makerbook/kafka';
import { ArchiveBroken, type Part, sizeOf } from './encode-parts.js';
import { type Archive, addPart, mergeParts, type Newest, readNewest } from './open-archive.js';

export type Archiving = Awaited<ReturnType<typeof archiveLog>>;

/** Hears what goes wrong. */
export interface ArchiveFaults {
  /** It cannot go on: another process adds parts, the log was made anew, or has lost what is to be archived. */
  readonly onFatal: (error: Error) => void;
  /** The store has refused something, which is tried again. */
  readonly onFault: (error: Error) => void;
}

/** A part takes so many bytes in memory. Headers are most of the blocks of an idle log. */
const PART_BYTES = 16 * 1024 * 1024;
/** Pause between two fetches, between two parts, and before what the store has refused is tried again. */
const FETCH_MS = 500;
const PART_MS = 2_000;
const RETRY_MS = 1_000;
/** So many parts come before it is asked whether there are enough to merge. */
const MERGE_EVERY = 100;

/**
 * Adds to an archive what the log has beyond it, and goes on until it is stopped.
 * @param topic its name in Kafka, with the deployment's prefix
 * @throws ArchiveBroken where the archive is broken, of another log, or not signed; LogUnavailable
 */
export async function archiveLog(log: Log, topic: string, archive: Archive, faults: ArchiveFaults) {
  if (archive.key?.type === 'public') throw new ArchiveBroken('ARCHIVE_KEY is a public key: it signs nothing');
  const newest = await readNewest(archive);
  await expectSameLog(log, topic, archive, newest);
  const from = endOf(archive, newest);
  const stopping = new AbortController();
  const parts = new PartWriter(archive, newest && { header: newest.header, id: newest.id }, from, faults);
  const following = log.followTopic({
    topic,
    from,
    isGapless: true,
    pauseMs: FETCH_MS,
    onFatal: faults.onFatal,
    onRecords: (partition, records) => parts.take(partition, records, stopping.signal),
    onPosition: parts.moveTo,
  });
  // Ends of the log, and when they were asked for. Once the archive holds all up to them, it was whole at that time.
  // New ends are asked for only then, so that a log that never stands still has an age too.
  let wanted: { readonly ends: readonly bigint[]; readonly atMs: number } | undefined;
  let wholeAtMs = Number.NEGATIVE_INFINITY;
  const compareEnds = async () => {
    if (wanted !== undefined && parts.hasAll(wanted.ends)) {
      wholeAtMs = wanted.atMs;
      wanted = undefined;
    }
    const [atMs, to] = [performance.now(), [...parts.to]];
    const ends = await log.endOffsets(topic);
    expectBehind(to, ends);
    wanted ??= { ends, atMs };
  };
  let merging: Promise<void> | undefined;
  let mergedAt = 0;
  const merge = () => {
    if (merging !== undefined || parts.added.parts < mergedAt + MERGE_EVERY) return;
    mergedAt = parts.added.parts;
    merging = mergeParts(archive)
      .catch(faults.onFault)
      .finally(() => {
        merging = undefined;
      });
  };
  const writeAll = async () => {
    while (!stopping.signal.aborted) {
      await pause(PART_MS, stopping.signal);
      await parts.write().catch(faultOf(faults));
      await compareEnds().catch((error: Error) => error instanceof ArchiveBroken && faults.onFatal(error));
      merge();
    }
  };
  const writing = writeAll();
  return {
    /** Counts the parts and records that were added. */
    added: () => parts.added,
    /** Milliseconds by which the log may be ahead of the archive; Infinity before the archive had all of it once. */
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

const faultOf = ({ onFatal, onFault }: ArchiveFaults) => {
  return (error: Error) => (error instanceof ArchiveBroken ? onFatal(error) : onFault(error));
};

/** How far each partition is archived. */
const endOf = ({ partitions }: Archive, newest: Newest | undefined): bigint[] =>
  newest?.header.to.map(BigInt) ?? new Array<bigint>(partitions).fill(0n);

/** The newest archived record is the log's, too. */
async function expectSameLog(log: Log, topic: string, archive: Archive, newest: Part | undefined): Promise<void> {
  expectBehind(endOf(archive, newest), await log.endOffsets(topic));
  const archived = newest?.records(topic).at(-1);
  if (archived === undefined) return;
  const { partition, offset } = archived;
  const stored = (await log.readRecords({ topic, partition }, [offset])).get(offset);
  if (stored === undefined || describeRecord(stored) !== describeRecord(archived))
    throw new ArchiveBroken(
      `partition ${partition} has another record at ${offset} than ${archive.store.name}: it is of another log`,
    );
}

/** @throws ArchiveBroken where the log ends before what is archived of it */
function expectBehind(to: readonly bigint[], ends: readonly bigint[]): void {
  for (const [partition, offset] of to.entries()) {
    const end = ends[partition] ?? 0n;
    if (end < offset)
      throw new ArchiveBroken(`partition ${partition} ends at ${end}, the archive at ${offset}: it is of another log`);
  }
}

/** A record as text: that of the log, be it restored, and that of the archive are the same one where these are. */
export function describeRecord({ offset, timestampMs, key, value, headers }: StoredRecord): string {
  const { [RESTORED_HEADER]: _, ...own } = headers;
  return JSON.stringify([String(offset), timestampMs, key, value?.toString('base64') ?? null, own]);
}

/** Gathers records, and adds them to the archive part by part. */
class PartWriter {
  readonly #archive: Archive;
  readonly #faults: ArchiveFaults;
  readonly to: bigint[];
  readonly added = { parts: 0, records: 0, newestMs: 0 };
  #newest: Newest | undefined;
  #records: StoredRecord[] = [];
  #bytes = 0;
  /** A part that is being added. It stays as it is until it is: the store may have it already. */
  #adding: { readonly to: readonly bigint[]; readonly records: readonly StoredRecord[] } | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(archive: Archive, newest: Newest | undefined, from: readonly bigint[], faults: ArchiveFaults) {
    this.#archive = archive;
    this.#newest = newest;
    this.to = [...from];
    this.#faults = faults;
  }

  /** Waits while a whole part waits to be stored. @throws ArchiveBroken */
  async take(partition: number, records: readonly StoredRecord[], stopping: AbortSignal): Promise<void> {
    for (const record of records) {
      if (record.offset < (this.to[partition] ?? 0n))
        throw new ArchiveBroken(`partition ${partition} goes back to ${record.offset}: the log was made anew`);
      this.#records.push(record);
      this.#bytes += sizeOf(record);
      this.to[partition] = record.offset + 1n;
    }
    while (this.#bytes >= PART_BYTES && !stopping.aborted)
      await this.write().catch((error: Error) => {
        faultOf(this.#faults)(error);
        return pause(RETRY_MS, stopping);
      });
  }

  readonly moveTo = (partition: number, nextOffset: bigint): void => {
    // One that goes back is told by the ends of the log.
    if (nextOffset > (this.to[partition] ?? 0n)) this.to[partition] = nextOffset;
  };

  /** Tells whether all records before these offsets are archived. */
  hasAll(ends: readonly bigint[]): boolean {
    return ends.every((end, partition) => BigInt(this.#newest?.header.to[partition] ?? 0) >= end);
  }

  /** Adds a part with all that waits. What cannot be stored goes on waiting. */
  write(): Promise<void> {
    const written = this.#writing.then(() => this.#write());
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(): Promise<void> {
    if (this.#adding === undefined) {
      if (this.hasAll(this.to)) return;
      this.#adding = { to: [...this.to], records: this.#records };
      [this.#records, this.#bytes] = [[], 0];
    }
    const { records } = this.#adding;
    this.#newest = await addPart(this.#archive, this.#newest, this.#adding);
    this.#adding = undefined;
    const { added } = this;
    added.parts += 1;
    added.records += records.length;
    added.newestMs = records.reduce((newest, { timestampMs }) => Math.max(newest, timestampMs), added.newestMs);
  }
}
