import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchJars } from '../fetch-jars.js';
import { findFreePort } from '../find-free-ports.js';
import { startKafka } from '../start-kafka.js';

/** The variable from which every `java` takes options. */
const JAVA_OPTIONS = 'JDK_JAVA_OPTIONS';
/** The variable that gives every `node` a folder for compiled code. */
const NODE_CACHE = 'NODE_COMPILE_CACHE';
/** Use the first compiler alone: a test's broker has ended before the second one pays off. */
const FIRST_COMPILER = '-XX:TieredStopAtLevel=1';

/**
 * Speeds up the start of the processes that tests start. A broker then starts with a third of the CPU. Call this before
 * they start. It keeps variables that are already set.
 * @param folder takes the code that Node.js compiles in this run
 */
export async function speedUpStarts(folder: string, onProgress: (line: string) => void): Promise<void> {
  process.env[NODE_CACHE] ??= join(folder, 'node-compile-cache');
  if (process.env[JAVA_OPTIONS] !== undefined) return;
  const archive = `${(await fetchJars(onProgress)).folder}.jsa`;
  if (!existsSync(archive)) await archiveClasses(archive);
  process.env[JAVA_OPTIONS] = `${FIRST_COMPILER} -XX:SharedArchiveFile=${archive}`;
}

/** Archives the classes that a broker has loaded when it ends, parsed and verified. Another Java ignores the file. */
async function archiveClasses(archive: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'makerbook-archive-'));
  const unfinished = `${archive}.${process.pid}`;
  process.env[JAVA_OPTIONS] = `${FIRST_COMPILER} -XX:ArchiveClassesAtExit=${unfinished}`;
  try {
    const kafka = await startKafka({ dataDir, port: await findFreePort() });
    await kafka.stop();
    // A Java that cannot share classes writes no archive.
    if (existsSync(unfinished)) renameSync(unfinished, archive);
  } finally {
    delete process.env[JAVA_OPTIONS];
    rmSync(unfinished, { force: true });
    rmSync(dataDir, { recursive: true, force: true });
  }
}
