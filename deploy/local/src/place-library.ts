import { copyFileSync, mkdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { fetchLibsecp256k1, PartError } from '@makerbook/parts';

/**
 * `node place-library.js <file>`, by `bootstrap.mjs`: puts a current libsecp256k1 where `shared/signatures` looks for
 * it. Where there is none for this machine it does nothing.
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

/** A process that has loaded the file before keeps what it has. */
function place(library: string): void {
  mkdirSync(dirname(target), { recursive: true });
  const unfinished = `${target}.${process.pid}`;
  copyFileSync(library, unfinished);
  renameSync(unfinished, target);
}
