import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PartError } from './spawn-part.js';

/** A way to run Postgres. */
export type PostgresRunner = {
  /** Where `initdb` and `postgres` are. */
  readonly binFolder: string;
  /** The user to spawn the process as. Empty: this process's user, unless `wrap` changes it. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
  /** Words to put before the command line. */
  readonly wrap: readonly string[];
  /** The required owner of the data folder, as this process sees it. Undefined: any. */
  readonly owner?: { readonly uid: number; readonly gid: number };
};

type User = { readonly uid: number; readonly gid: number };

/**
 * Postgres refuses to run as root. Started by root it runs as user `postgres`, or else as `nobody`. If that user may
 * not enter the folders (for example a clone in root's home), this tries two more ways. The first is root in a user
 * namespace that maps it to that user. The second is that user with root's right to enter every folder, and a copy of
 * the binaries in an open place, because Postgres checks its own path without that right.
 * @param binFolder folder `native/bin` of the npm package
 * @throws PartError when none of these ways works
 */
export function dropPrivileges(binFolder: string, dataDir: string): PostgresRunner {
  if (process.getuid?.() !== 0) return { binFolder, identity: {}, wrap: [] };
  const user = findUser();
  const asOther: PostgresRunner = { binFolder, identity: user, wrap: [], owner: user };
  if (reaches(asOther, dataDir)) return asOther;
  const names = ['--user', `--map-user=${user.uid}`, `--map-group=${user.gid}`];
  const asNamed: PostgresRunner = { binFolder, identity: {}, wrap: ['unshare', ...names], owner: { uid: 0, gid: 0 } };
  if (reaches(asNamed, dataDir)) return asNamed;
  const rights = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const wrap = ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', ...rights];
  const withRights: PostgresRunner = { binFolder: copyBinaries(binFolder), identity: {}, wrap, owner: user };
  if (reaches(withRights, dataDir)) return withRights;
  throw new PartError(
    'Postgres',
    `PostgreSQL cannot run as root, and no other user may enter ${dataDir} or ${binFolder}: run as another user, or clone to a folder that everyone may enter`,
  );
}

function reaches({ binFolder, identity, wrap }: PostgresRunner, dataDir: string): boolean {
  const look = ['/bin/sh', '-c', 'test -x "$1" && cd "$2"', 'sh', join(binFolder, 'postgres'), dirname(dataDir)];
  const [command = '', ...args] = [...wrap, ...look];
  return spawnSync(command, args, { cwd: '/', ...identity }).status === 0;
}

function findUser(): User {
  for (const name of ['postgres', 'nobody']) {
    const uid = spawnSync('id', ['-u', name], { encoding: 'utf8' });
    const gid = spawnSync('id', ['-g', name], { encoding: 'utf8' });
    if (uid.status === 0 && gid.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new PartError(
    'Postgres',
    'PostgreSQL cannot run as root, and there is no user for it: add one, for example with `useradd --system postgres`',
  );
}

/** Copies the binaries to the folder for temporary files, once. Uses hard links if it is on the same disk. */
function copyBinaries(binFolder: string): string {
  const native = dirname(binFolder);
  const { version } = JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const target = join(tmpdir(), `makerbook-postgres-${version}`);
  if (!isOurs(target)) {
    rmSync(target, { recursive: true, force: true });
    const unfinished = mkdtempSync(join(tmpdir(), 'makerbook-postgres-'));
    const copy = (flags: string) => spawnSync('cp', [flags, `${native}/.`, unfinished]).status === 0;
    if (!copy('-al') && !copy('-a')) throw new PartError('Postgres', `${native} cannot be copied to ${unfinished}`);
    chmodSync(unfinished, 0o755);
    renameSync(unfinished, target);
  }
  return join(target, 'bin');
}

/** True if root alone can write the folder. Run no other binaries: everyone can write to the temporary folder. */
function isOurs(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === 0 && (stat.mode & 0o022) === 0;
}
