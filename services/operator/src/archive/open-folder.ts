import { randomUUID } from 'node:crypto';
import { link, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '@makerbook/settings';

/** Where the files of an archive are. A file never changes. */
export interface ArchiveStore {
  /** Shown to the operator. */
  readonly name: string;
  /** The names of all files after a name, in order. @param after empty: all */
  list(after: string): Promise<string[]>;
  /** Undefined if there is no such file. */
  read(name: string): Promise<Buffer | undefined>;
  /** Stores a whole file. @returns false, and changes nothing, if there is another file of that name */
  create(name: string, bytes: Buffer): Promise<boolean>;
  remove(name: string): Promise<void>;
  /** Closes its connections. */
  close(): void;
}

const UNFINISHED = '.unfinished';

/** Opens a folder as the store of an archive. The first file creates it. */
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
        // Fails if the name is taken. A rename would not.
        await link(unfinished, join(folder, name));
        await sync(folder);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        // The file may be from an earlier attempt, which failed after the link.
        return (await read(name))?.equals(bytes) === true;
      } finally {
        await rm(unfinished, { force: true });
      }
    },
    remove: (name) => rm(join(folder, name), { force: true }),
    close: () => undefined,
  };
}

/** Replaces a file: the disk has the old one or the new one, whole. @param folder must exist */
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

/** Syncs the names in a folder to the disk. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
