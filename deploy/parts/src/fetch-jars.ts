import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fetchOnce } from './fetch-once.js';
import { logTail, PartError, spawnPart } from './spawn-part.js';

const KAFKA_FOLDER = join(import.meta.dirname, '..', 'kafka');
/** The variable that names another version of Kafka than the pom's. */
export const KAFKA_VERSION_VARIABLE = 'MAKERBOOK_KAFKA_VERSION';

export type FetchedJars = {
  /** Holds Kafka with everything that it needs, and in `binaries` Redis and libsecp256k1. */
  readonly folder: string;
};

/**
 * The jars of `deploy/parts/kafka/pom.xml`, fetched by Maven at the first call and kept beside the pom for the next. A
 * folder is named by its pom's content and the version of Kafka, and appears whole or not at all; of two processes at
 * once, one fetches and the other waits.
 * @throws PartError when Maven is missing or fails
 */
export async function fetchJars(onProgress: (line: string) => void = () => undefined): Promise<FetchedJars> {
  const pom = join(KAFKA_FOLDER, 'pom.xml');
  const version = process.env[KAFKA_VERSION_VARIABLE];
  const properties = version === undefined ? [] : [`-Dkafka.version=${version}`];
  const content = [readFileSync(pom, 'utf8'), ...properties].join('\n');
  const key = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const folder = join(KAFKA_FOLDER, 'target', `jars-${key}`);
  await fetchOnce(folder, async (unfinished) => {
    onProgress('fetching Kafka with Maven (about 58 MB, once)');
    await copyDependencies(pom, unfinished, properties);
  });
  return { folder };
}

/** A binary out of the jars, by the end of its path; undefined where there is none for this machine. */
export function findBinary({ folder }: FetchedJars, end: string): string | undefined {
  const binaries = join(folder, 'binaries');
  const name = readdirSync(binaries, { recursive: true, encoding: 'utf8' }).find((file) => file.endsWith(end));
  if (name === undefined) return undefined;
  chmodSync(join(binaries, name), 0o755);
  return join(binaries, name);
}

async function copyDependencies(pom: string, outputDirectory: string, properties: readonly string[]): Promise<void> {
  requireMaven();
  const goals = ['dependency:copy-dependencies', 'dependency:unpack-dependencies@binaries'];
  const args = ['--batch-mode', '--quiet', '--file', pom, ...goals, '-DincludeScope=runtime'];
  const logFile = join(KAFKA_FOLDER, 'target', 'maven.log');
  rmSync(logFile, { force: true });
  const maven = spawnPart({
    name: 'Maven',
    command: 'mvn',
    args: [...args, ...properties, `-DoutputDirectory=${outputDirectory}`],
    cwd: KAFKA_FOLDER,
    logFile,
  });
  const { code } = await maven.exited;
  if (code !== 0) {
    const message = 'Maven could not fetch Kafka: check the connection to its repository and try again';
    throw new PartError('Kafka', message, logTail(maven));
  }
}

function requireMaven(): void {
  if (spawnSync('mvn', ['--version'], { cwd: '/' }).status === 0) return;
  throw new PartError(
    'Kafka',
    'Maven is missing (it fetches Kafka): install it, for example with `apt-get install -y maven`',
  );
}
