import { join } from 'node:path';
import { type Curve, loadLibrary, loadPackage } from './load-library.js';

/**
 * The library that signs and recovers in this process: a current libsecp256k1, or the slower npm package with the
 * reason.
 */
export type RecoveryLibrary =
  | { readonly name: 'libsecp256k1'; readonly file: string }
  | { readonly name: 'secp256k1 (npm)'; readonly reason: string };

/**
 * The path of a current libsecp256k1. The file may be missing: commands that need Maven fetch it, images include it.
 */
const LIBRARY_FILE = join(import.meta.dirname, '..', 'target', 'libsecp256k1.so');

const chosen = await chooseLibrary(LIBRARY_FILE);

/** The curve in the library of this process. */
export const curve = chosen.curve;

/** The library of this process, for a line in a service's log. */
export const recoveryLibrary = chosen.library;

/**
 * Loads the library of the file, or else the package.
 * @throws Error with what to do, if there is neither for this machine
 */
export async function chooseLibrary(
  file: string,
  otherwise = loadPackage,
): Promise<{ readonly curve: Curve; readonly library: RecoveryLibrary }> {
  try {
    return { curve: await loadLibrary(file), library: { name: 'libsecp256k1', file } };
  } catch (error) {
    const reason = `${file}: ${messageOf(error)}`;
    try {
      return { curve: await otherwise(), library: { name: 'secp256k1 (npm)', reason } };
    } catch (cause) {
      throw new Error(
        `nothing can sign here. On Linux \`npm start\` fetches a libsecp256k1. Or put one of your system there (${reason}), or install a C++ compiler, make and Python and run \`npm rebuild secp256k1\` (${messageOf(cause).split('\n')[0]})`,
        { cause },
      );
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
