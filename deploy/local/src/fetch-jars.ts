import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PartError } from './spawn-part.js';

const run = promisify(execFile);
const KAFKA_FOLDER = join(import.meta.dirname, '..', 'kafka');
const FETCH_TIMEOUT_MS = 10 * 60_000;
const LOCK_POLL_MS = 200;

export type FetchedJars = {
  /** Holds Kafka with everything that it needs, and the jar with Redis binaries. */
  readonly folder: string;
};

/**
 * The jars of `deploy/local/kafka/pom.xml`, fetched by Maven at the first call and kept beside the pom for the next.
 * A folder is named by its pom's content and appears whole or not at all; of two processes at once, one fetches and
 * the other waits.
 * @throws PartError when Maven is missing or fails
 */
export async function fetchJars(onProgress: (line: string) => void = () => undefined): Promise<FetchedJars> {
  const pom = join(KAFKA_FOLDER, 'pom.xml');
  const key = createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 12);
  const target = join(KAFKA_FOLDER, 'target');
  const folder = join(target, `jars-${key}`);
  if (exists(folder)) return { folder };

  mkdirSync(target, { recursive: true });
  const unlock = await lock(join(target, 'fetching.lock'));
  try {
    if (exists(folder)) return { folder };
    onProgress('fetching Kafka with Maven (about 55 MB, once)');
    const unfinished = join(target, 'unfinished');
    rmSync(unfinished, { recursive: true, force: true });
    await copyDependencies(pom, unfinished);
    renameSync(unfinished, folder);
    return { folder };
  } finally {
    unlock();
  }
}

/** Path of the one jar in a fetched folder whose name begins so. */
export function findJar(jars: FetchedJars, namePrefix: string): string {
  const name = readdirSync(jars.folder).find((file) => file.startsWith(namePrefix) && file.endsWith('.jar'));
  if (name === undefined)
    throw new PartError(namePrefix, `there is no ${namePrefix}*.jar in ${jars.folder}: remove it`);
  return join(jars.folder, name);
}

async function copyDependencies(pom: string, outputDirectory: string): Promise<void> {
  const args = ['--batch-mode', '--quiet', '--file', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime'];
  try {
    await run('mvn', [...args, `-DoutputDirectory=${outputDirectory}`], { timeout: FETCH_TIMEOUT_MS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new PartError(
        'Kafka',
        'Maven is missing (it fetches Kafka): install it, for example with `apt-get install -y maven`',
      );
    }
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const tail = `${stdout}${stderr}`.trimEnd().split('\n').slice(0, 15).join('\n');
    throw new PartError(
      'Kafka',
      'Maven could not fetch Kafka: check the connection to its repository and try again',
      tail,
    );
  }
}

/** Waits for a lock file that carries its owner's pid. One whose owner is gone is taken over. */
async function lock(file: string): Promise<() => void> {
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (!isAlive(readOwner(file))) rmSync(file, { force: true });
    await delay(LOCK_POLL_MS);
  }
}

function readOwner(file: string): number | undefined {
  try {
    // Between its creation and the write of the pid the file is empty: such an owner counts as alive for a while.
    const text = readFileSync(file, 'utf8');
    if (text === '') return Date.now() - statSync(file).mtimeMs < 5_000 ? process.pid : undefined;
    return Number(text);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isInteger(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
