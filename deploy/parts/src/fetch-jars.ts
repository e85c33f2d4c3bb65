import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fetchOnce } from './fetch-once.js';
import { logTail, PartError, spawnPart } from './spawn-part.js';

const KAFKA_FOLDER = join(import.meta.dirname, '..', 'kafka');
/** The variable that chooses another version of Kafka than the pom's. */
export const KAFKA_VERSION_VARIABLE = 'MAKERBOOK_KAFKA_VERSION';

export type FetchedJars = {
  /** Holds Kafka with all its dependencies. Its `binaries` hold Redis and libsecp256k1. */
  readonly folder: string;
};

/**
 * Has Maven fetch the jars of `deploy/parts/kafka/pom.xml` at the first call, and keeps them beside the pom.
 * @throws PartError when Maven is missing or fails
 */
export async function fetchJars(onProgress: (line: string) => void = () => undefined): Promise<FetchedJars> {
  const version = process.env[KAFKA_VERSION_VARIABLE];
  const folder = await fetchPom({
    name: 'Kafka',
    folder: KAFKA_FOLDER,
    size: '58 MB',
    properties: version === undefined ? [] : [`-Dkafka.version=${version}`],
    goals: ['dependency:copy-dependencies', 'dependency:unpack-dependencies@binaries'],
    onProgress,
  });
  return { folder };
}

/** A pom whose dependencies Maven fetches. */
export interface Fetched {
  /** The name that the user sees. */
  readonly name: string;
  /** The folder of the pom. */
  readonly folder: string;
  readonly size: string;
  readonly properties?: readonly string[];
  readonly goals: readonly string[];
  readonly onProgress: (line: string) => void;
}

/**
 * Fetches the dependencies of a pom, once, as {@link fetchOnce} does. The content of the pom and the properties name
 * the folder of jars.
 * @returns the folder
 * @throws PartError when Maven is missing or fails
 */
export async function fetchPom(fetched: Fetched): Promise<string> {
  const { name, folder, size, properties = [], onProgress } = fetched;
  const content = [readFileSync(join(folder, 'pom.xml'), 'utf8'), ...properties].join('\n');
  const key = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const jars = join(folder, 'target', `jars-${key}`);
  await fetchOnce(jars, async (unfinished) => {
    onProgress(`fetching ${name} with Maven (about ${size}, once)`);
    await copyDependencies(fetched, unfinished);
  });
  return jars;
}

/** Finds a binary of the jars by the end of its path. Undefined if there is none for this machine. */
export function findBinary({ folder }: FetchedJars, end: string): string | undefined {
  const binaries = join(folder, 'binaries');
  const name = readdirSync(binaries, { recursive: true, encoding: 'utf8' }).find((file) => file.endsWith(end));
  if (name === undefined) return undefined;
  chmodSync(join(binaries, name), 0o755);
  return join(binaries, name);
}

async function copyDependencies(
  { name, folder, properties = [], goals }: Fetched,
  outputDirectory: string,
): Promise<void> {
  requireMaven(name);
  const args = ['--batch-mode', '--quiet', '--file', join(folder, 'pom.xml'), ...goals, '-DincludeScope=runtime'];
  const logFile = join(folder, 'target', 'maven.log');
  rmSync(logFile, { force: true });
  const maven = spawnPart({
    name: 'Maven',
    command: 'mvn',
    args: [...args, ...properties, `-DoutputDirectory=${outputDirectory}`],
    cwd: folder,
    logFile,
  });
  const { code } = await maven.exited;
  if (code !== 0) {
    const message = `Maven could not fetch ${name}: check the connection to its repository and try again`;
    throw new PartError(name, message, logTail(maven));
  }
}

function requireMaven(name: string): void {
  if (spawnSync('mvn', ['--version'], { cwd: '/' }).status === 0) return;
  throw new PartError(
    name,
    `Maven is missing (it fetches ${name}): install it, for example with \`apt-get install -y maven\``,
  );
}
