import { copyFileSync, mkdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { fetchLibsecp256k1, PartError } from '@makerbook/parts';

/**
 * `node place-library.js <file>`, run by `bootstrap.mjs`. Puts a current libsecp256k1 where `shared/signatures` looks
 * for it. Does nothing if there is none for this machine.
 */
const [, , target = ''] = process.argv;
try {
  const library = await fetchLibsecp256k1((line) => console.error(line));
  if (library !== undefined) place(library);
} catch (error) {
  if (!(error instanceof PartError)) throw error;
  console.error(`${error.logTail}\n${error.message}`.trim());
  process.exitCode = 1;
}

/** Replaces the library. A process that has loaded the old file keeps it. */
function place(library: string): void {
  mkdirSync(dirname(target), { recursive: true });
  const unfinished = `${target}.${process.pid}`;
  copyFileSync(library, unfinished);
  renameSync(unfinished, target);
}
