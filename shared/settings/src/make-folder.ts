import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { refuseWords } from './read-options.js';

/**
 * Makes a folder and its parents. `recursive` of Node.js never ends if the system refuses folders, as in /proc.
 * @throws Error of the system
 */
export function makeFolder(path: string): void {
  const folder = resolve(path);
  if (isFolder(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it.
    if (!isFolder(folder)) throw error;
  }
}

/** Makes the folder that a command was given, or ends the process as `refuseWords` does. */
export function makeFolderOrRefuse(path: string): void {
  try {
    makeFolder(path);
  } catch (error) {
    refuseWords(`the folder ${path} cannot be made: ${(error as Error).message}`);
  }
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
