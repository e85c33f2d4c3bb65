import { randomUUID } from 'node:crypto';
import { link, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '@makerbook/settings';

/** Where the files of an archive are. A file never changes. */
export interface ArchiveStore {
  /** Shown to the operator. */
  readonly name: string;
  /** The names of all files behind a name, in their order. @param after empty: all */
  list(after: string): Promise<string[]>;
  /** Undefined where there is none. */
  read(name: string): Promise<Buffer | undefined>;
  /** Stores a file, whole. @returns false, and changes nothing, where there is another one of that name */
  create(name: string, bytes: Buffer): Promise<boolean>;
  remove(name: string): Promise<void>;
  /** Closes its connections. */
  close(): void;
}

const UNFINISHED = '.unfinished';

/** A folder as the store of an archive. It is made with the first file. */
export function openFolder(folder: string): ArchiveStore {
  const read = (name: string) =>
    readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
  return {
    name: folder,
    read,
    async list(after) {
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      return names.filter((name) => name > after && !name.endsWith(UNFINISHED)).sort();
    },
    async create(name, bytes) {
      makeFolder(folder);
      const unfinished = await writeUnfinished(folder, bytes);
      try {
        // Fails where the name is taken, and a rename would not.
        await link(unfinished, join(folder, name));
        await sync(folder);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        // It may be that of an attempt before, which failed behind the link.
        return (await read(name))?.equals(bytes) === true;
      } finally {
        await rm(unfinished, { force: true });
      }
    },
    remove: (name) => rm(join(folder, name), { force: true }),
    close: () => undefined,
  };
}

/** Replaces a file: it is the old one or the new one, whole, and on the disk. @param folder is there */
export async function replaceFile(folder: string, name: string, bytes: Buffer): Promise<void> {
  await rename(await writeUnfinished(folder, bytes), join(folder, name));
  await sync(folder);
}

async function writeUnfinished(folder: string, bytes: Buffer): Promise<string> {
  const path = join(folder, `${randomUUID()}${UNFINISHED}`);
  const file = await open(path, 'wx');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return path;
}

/** Puts the names of a folder on the disk. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
