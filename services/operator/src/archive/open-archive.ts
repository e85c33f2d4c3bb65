import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { StoredRecord } from '@makerbook/kafka';
import { z } from 'zod';
import { ArchiveBroken, decodeParts, encodePart, type Part, type PartHeader } from './encode-parts.js';
import { type ArchiveStore, replaceFile } from './open-folder.js';

/** The archive of a topic: numbered parts, each of which names the part before it. */
export interface Archive {
  readonly store: ArchiveStore;
  /** The topic's name in the archive, without the prefix of the deployment. */
  readonly topic: string;
  readonly partitions: number;
  /** Signs the parts, and checks their signatures; undefined: no signature is made or checked. */
  readonly key: KeyObject | undefined;
  /**
   * A file outside the store that names the newest part; undefined: nobody notices that parts at the end are missing.
   */
  readonly headFile: string | undefined;
}

/** The content of the head file, which names the newest part. */
const head = z.strictObject({ number: z.int().min(1), id: z.string() });
type Head = z.infer<typeof head>;

/** What the next part must know of the newest one. */
export type Newest = Pick<Part, 'id'> & { readonly header: Pick<PartHeader, 'number' | 'to'> };

interface PartsFile {
  readonly name: string;
  /** The numbers of its first and its last part. */
  readonly first: number;
  readonly last: number;
}

/** How many files of one part are merged into one. */
const MERGED_PARTS = 1_000;
/** A merged file is not larger, unless one part is. */
const MERGED_BYTES = 64 * 1024 * 1024;
const NAME = /^(\d{12})-(\d{12})\.parts$/;

/** A file is named after the numbers of its first and its last part. */
const nameOf = (first: number, last: number) =>
  `${[first, last].map((number) => String(number).padStart(12, '0')).join('-')}.parts`;

/**
 * Reads all parts of an archive in order. If it ends without an error, no part is missing.
 * @throws ArchiveBroken
 */
export async function* readParts(archive: Archive): AsyncGenerator<Part> {
  const kept = await readHead(archive);
  let before: Part | undefined;
  let gone: string | undefined;
  for (let files = await listFiles(archive); files.length > 0; ) {
    const { name } = files.shift() ?? { name: '' };
    const bytes = await archive.store.read(name);
    if (bytes === undefined) {
      if (gone === name) throw new ArchiveBroken(`${name} of ${archive.store.name} is missing`);
      // The file may have been merged meanwhile.
      const last = before?.header.number ?? 0;
      files = (await listFiles(archive)).filter((file) => file.last > last);
      gone = name;
      continue;
    }
    for (const part of decodeParts(name, bytes, archive.key)) {
      // Two processes may have merged parts into files that overlap.
      if (part.header.number <= (before?.header.number ?? 0)) continue;
      expectNext(archive, before, part);
      expectHead(archive, kept, part);
      yield part;
      before = part;
    }
  }
  expectWhole(archive, kept, before);
}

/** Reads the newest part; undefined if there is none. @throws ArchiveBroken */
export async function readNewest(archive: Archive): Promise<Part | undefined> {
  const [kept, files] = [await readHead(archive), await listFiles(archive)];
  const last = files.at(-1);
  const bytes = last && (await archive.store.read(last.name));
  let newest: Part | undefined;
  for (const part of last && bytes ? decodeParts(last.name, bytes, archive.key) : []) {
    expectTopic(archive, part.header);
    expectHead(archive, kept, part);
    newest = part;
  }
  expectWhole(archive, kept, newest);
  return newest;
}

/** Reads the newest part. @throws ArchiveBroken also if there is none */
export async function requireNewest(archive: Archive): Promise<Part> {
  const newest = await readNewest(archive);
  if (newest === undefined) throw new ArchiveBroken(`${archive.store.name} holds no archive`);
  return newest;
}

/**
 * Adds a part behind the newest one. Call it again with the same part if it fails.
 * @throws ArchiveBroken if another process has added a part, which ends this process; else what the store throws
 */
export async function addPart(
  archive: Archive,
  before: Newest | undefined,
  { to, records }: { readonly to: readonly bigint[]; readonly records: readonly StoredRecord[] },
): Promise<Newest> {
  const { store, topic, key, headFile } = archive;
  const number = (before?.header.number ?? 0) + 1;
  const from = before?.header.to ?? to.map(() => '0');
  const place = { topic, number, previous: before?.id ?? null, from, to: to.map(String) };
  const { id, bytes } = encodePart(place, records, key);
  const name = nameOf(number, number);
  const isFirst = await store.create(name, bytes);
  // The newest part always has a file of its own. So a process that was paused, while another one continued and merged
  // files, finds here that parts come after its own.
  if (!isFirst || (await store.list(name)).some((other) => NAME.test(other)))
    throw new ArchiveBroken(`part ${number} of ${store.name} was written by another process`);
  const kept = await readHead(archive);
  if (headFile !== undefined && (kept?.number ?? 0) < number) await writeHead(headFile, { number, id });
  return { header: { number, to: place.to }, id };
}

/** Merges files of one part, once there are so many besides the newest. What a kill leaves is read as before. */
export async function mergeParts(archive: Archive, parts = MERGED_PARTS): Promise<void> {
  const { store } = archive;
  const single = (await listFiles(archive)).slice(0, -1).filter(({ first, last }) => first === last);
  if (single.length < parts) return;
  let bytes: Buffer[] = [];
  let names: PartsFile[] = [];
  const merge = async () => {
    const [first, last] = [names[0], names.at(-1)];
    if (first === undefined || last === undefined || first === last) return;
    if (!(await store.create(nameOf(first.first, last.last), Buffer.concat(bytes)))) return;
    for (const { name } of names) await store.remove(name);
  };
  for (const file of single) {
    const read = await store.read(file.name);
    // Another process is merging.
    if (read === undefined) return;
    const size = bytes.reduce((sum, each) => sum + each.length, read.length);
    if (size > MERGED_BYTES || file.first !== (names.at(-1)?.last ?? file.first - 1) + 1) {
      await merge();
      [bytes, names] = [[], []];
    }
    bytes.push(read);
    names.push(file);
  }
  await merge();
}

/** Leaves out files whose parts a merged file has too. */
async function listFiles({ store }: Archive): Promise<PartsFile[]> {
  const names = await store.list('');
  if (names.includes('manifest.json'))
    throw new ArchiveBroken(
      `${store.name} is an archive of an earlier release: begin a new one elsewhere, and keep this one until that is verified`,
    );
  const files = names.flatMap((name): PartsFile[] => {
    const [, first, last] = NAME.exec(name) ?? [];
    return first === undefined ? [] : [{ name, first: Number(first), last: Number(last) }];
  });
  let last = 0;
  return files
    .sort((one, other) => one.first - other.first || other.last - one.last)
    .filter((file) => {
      const isNew = file.last > last;
      last = Math.max(last, file.last);
      return isNew;
    });
}

function expectTopic({ store, topic, partitions }: Archive, { topic: of, to }: PartHeader): void {
  if (of !== topic || to.length !== partitions)
    throw new ArchiveBroken(`${store.name} is the archive of ${of} with ${to.length} partitions`);
}

function expectNext(archive: Archive, before: Part | undefined, { header: next }: Part): void {
  const { store } = archive;
  expectTopic(archive, next);
  const number = (before?.header.number ?? 0) + 1;
  if (next.number !== number) throw new ArchiveBroken(`part ${number} of ${store.name} is missing`);
  const from = before?.header.to ?? next.to.map(() => '0');
  if (next.previous !== (before?.id ?? null) || next.from.join() !== from.join())
    throw new ArchiveBroken(`part ${number} of ${store.name} does not follow the part before it: one was changed`);
}

function expectHead({ store, headFile }: Archive, kept: Head | undefined, { header: { number }, id }: Part): void {
  if (kept?.number === number && kept.id !== id)
    throw new ArchiveBroken(`part ${number} of ${store.name} is not the one that ${headFile} names`);
}

function expectWhole({ store, headFile }: Archive, kept: Head | undefined, newest: Part | undefined): void {
  const number = newest?.header.number ?? 0;
  // The first part is stored before its head.
  if (headFile !== undefined && kept === undefined && number > 1)
    throw new ArchiveBroken(`${headFile} is missing, and ${store.name} has ${number} parts`);
  if (kept !== undefined && kept.number > number)
    throw new ArchiveBroken(`${store.name} ends at part ${number}, and ${headFile} names part ${kept.number}`);
}

async function readHead({ headFile }: Archive): Promise<Head | undefined> {
  if (headFile === undefined) return undefined;
  const text = await readFile(headFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  try {
    return text === undefined ? undefined : head.parse(JSON.parse(text));
  } catch (error) {
    throw new ArchiveBroken(`${headFile} cannot be read: ${(error as Error).message}`);
  }
}

const writeHead = (path: string, newest: Head) =>
  replaceFile(dirname(path), basename(path), Buffer.from(`${JSON.stringify(newest)}\n`));
