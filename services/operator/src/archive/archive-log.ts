import { pause } from '@makerbook/contracts-primitives';
import { type Log, RESTORED_HEADER, type StoredRecord } from '@makerbook/kafka';
import { ArchiveBroken, type Part, sizeOf } from './encode-parts.js';
import { type Archive, addPart, mergeParts, type Newest, readNewest } from './open-archive.js';

export type Archiving = Awaited<ReturnType<typeof archiveLog>>;

/** Called when something goes wrong. */
export interface ArchiveFaults {
  /**
   * Archiving cannot continue: another process adds parts, or the log was recreated, or lost what is to be archived.
   */
  readonly onFatal: (error: Error) => void;
  /** The store has refused something, which is retried. */
  readonly onFault: (error: Error) => void;
}

/** A part takes so many bytes in memory. Headers count: they are most of the block facts of an idle log. */
const PART_BYTES = 16 * 1024 * 1024;
/** Pauses between two fetches, between two parts, and before a retry of what the store has refused. */
const FETCH_MS = 500;
const PART_MS = 2_000;
const RETRY_MS = 1_000;
/** How many new parts come before a check whether there are enough to merge. */
const MERGE_EVERY = 100;

/**
 * Adds to an archive what the log has beyond it, until it is stopped.
 * @param topic the name in Kafka, with the deployment's prefix
 * @throws ArchiveBroken if the archive is broken, of another log, or not signed; LogUnavailable
 */
export async function archiveLog(log: Log, topic: string, archive: Archive, faults: ArchiveFaults) {
  if (archive.key?.type === 'public') throw new ArchiveBroken('ARCHIVE_KEY is a public key: give the private one');
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
  // Ends of the log, and when they were read. Once the archive holds all up to them, it was whole at that time. New
  // ends are read only then, so that a log that always grows has an age too.
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
    /** Milliseconds by which the log may be ahead of the archive; Infinity until the archive has had all of it once. */
    ageMs: () => performance.now() - wholeAtMs,
    /** Resolves when all that the log had at the start is read. Never after `onFatal`. */
    caughtUp: following.caughtUp,
    /** Stops, and adds what was read. */
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

/** The offset up to which each partition is archived. */
const endOf = ({ partitions }: Archive, newest: Newest | undefined): bigint[] =>
  newest?.header.to.map(BigInt) ?? new Array<bigint>(partitions).fill(0n);

/** Checks that the newest archived record is the log's. */
async function expectSameLog(log: Log, topic: string, archive: Archive, newest: Part | undefined): Promise<void> {
  expectBehind(endOf(archive, newest), await log.endOffsets(topic));
  const archived = newest?.records(topic).at(-1);
  if (archived === undefined) return;
  const { partition, offset } = archived;
  const stored = (await log.readRecords({ topic, partition }, [offset])).get(offset);
  if (stored === undefined || describeRecord(stored) !== describeRecord(archived))
    throw new ArchiveBroken(
      `partition ${partition} differs from ${archive.store.name} at ${offset}: the archive belongs to another log`,
    );
}

/** @throws ArchiveBroken if the log ends before what is archived of it */
function expectBehind(to: readonly bigint[], ends: readonly bigint[]): void {
  for (const [partition, offset] of to.entries()) {
    const end = ends[partition] ?? 0n;
    if (end < offset)
      throw new ArchiveBroken(
        `partition ${partition} ends at ${end}, the archive at ${offset}: the archive belongs to another log`,
      );
  }
}

/** A record as text, without the mark of a restore. A log's record is an archive's if their texts are equal. */
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
  /** The part that is being added. It does not change until it is added: the store may have it already. */
  #adding: { readonly to: readonly bigint[]; readonly records: readonly StoredRecord[] } | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(archive: Archive, newest: Newest | undefined, from: readonly bigint[], faults: ArchiveFaults) {
    this.#archive = archive;
    this.#newest = newest;
    this.to = [...from];
    this.#faults = faults;
  }

  /** Takes records. Waits while a full part waits to be stored. @throws ArchiveBroken */
  async take(partition: number, records: readonly StoredRecord[], stopping: AbortSignal): Promise<void> {
    for (const record of records) {
      if (record.offset < (this.to[partition] ?? 0n))
        throw new ArchiveBroken(`partition ${partition} goes back to ${record.offset}: the log was created again`);
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
    // The ends of the log show a position that goes back.
    if (nextOffset > (this.to[partition] ?? 0n)) this.to[partition] = nextOffset;
  };

  /** True if all records before these offsets are archived. */
  hasAll(ends: readonly bigint[]): boolean {
    return ends.every((end, partition) => BigInt(this.#newest?.header.to[partition] ?? 0) >= end);
  }

  /** Adds a part with all records that wait. They keep waiting if they cannot be stored. */
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
