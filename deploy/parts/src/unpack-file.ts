import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { readFileFromZip } from './read-zip.js';

/**
 * Unpacks a file of a jar, once: it appears whole or not at all.
 * @param matches chooses it by its name in the jar
 * @returns false when the jar has no such file
 */
export function unpackFile(jar: string, matches: (name: string) => boolean, target: string): boolean {
  if (existsSync(target)) return true;
  const content = readFileFromZip(readFileSync(jar), matches);
  if (content === undefined) return false;
  const unfinished = `${target}.${process.pid}`;
  writeFileSync(unfinished, content, { mode: 0o755 });
  renameSync(unfinished, target);
  return true;
}
