import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createDatabase, pingDatabase, reloadServer } from './create-database.js';
import { dropPrivileges, type PostgresRunner } from './drop-privileges.js';
import { findPostgres } from './fetch-postgres.js';
import { childrenOf, untilFrozen } from './read-processes.js';
import { logTail, type Part, PartError, requireFreePort, spawnPart, waitUntilReady } from './spawn-part.js';

const START_TIMEOUT_MS = 90_000;
/** Postgres frees a killed predecessor's shared memory when its last backend has ended. */
const LEFTOVER_TRIES = 20;
const LEFTOVER_WAIT_MS = 500;

/** User and password of every local Postgres, which listens on the loopback address alone. */
const USER = 'makerbook';

export type PostgresPart = Part & {
  /** `postgres://user:password@host:port/makerbook`. The database exists. */
  readonly url: string;
  /** Writes files, keyed by name, to the data folder, and has the server read them: see {@link reloadServer}. */
  replaceFiles(files: Readonly<Record<string, string>>): Promise<void>;
  /** Creates another database unless it exists, and returns its URL. */
  databaseUrl(name: string): Promise<string>;
};

export type PostgresOptions = {
  /** Absolute path; created when missing. */
  readonly dataDir: string;
  readonly port: number;
  readonly logFile?: string;
  /** Override the settings that every Postgres here has. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Files to write to the data folder before the start, keyed by name: keys, `standby.signal`. */
  readonly files?: Readonly<Record<string, string>>;
};

/**
 * Starts PostgreSQL on the loopback address, with fsync on unless the settings say otherwise. Root runs it as another
 * user, see {@link dropPrivileges}.
 * @throws PartError if the data folder is broken or in use by another Postgres, or root finds no other user
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresPart> {
  const { dataDir, port, files = {} } = options;
  await requireFreePort('Postgres', port);
  const logFile = options.logFile ?? `${dataDir}.log`;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const runner = dropPrivileges(await findBinaries(), dataDir);
  ownFolder(dataDir, runner);
  await initialise(dataDir, runner);
  for (const [name, content] of Object.entries(files)) writeOwned(join(dataDir, name), content, runner);
  const part = await startServer({ ...options, logFile }, runner);
  const server = serverUrl(port);
  const url = await createDatabase(server, 'makerbook');
  return {
    ...part,
    url,
    databaseUrl: (name) => createDatabase(server, name),
    async replaceFiles(files) {
      for (const [name, content] of Object.entries(files)) writeOwned(join(dataDir, name), content, runner);
      await reloadServer(server);
    },
    kill(signal) {
      // Each backend has a process group of its own. A container ends them all at once: a frozen one keeps the memory.
      const children = ['SIGSTOP', 'SIGCONT', 'SIGKILL'].includes(signal) ? childrenOf(part.pid) : [];
      part.kill(signal);
      for (const pid of children) trySignal(pid, signal);
    },
    async freeze() {
      await part.freeze();
      for (const pid of childrenOf(part.pid)) {
        trySignal(pid, 'SIGSTOP');
        await untilFrozen(pid);
      }
    },
  };
}

async function findBinaries(): Promise<string> {
  const folder = await findPostgres();
  for (const name of ['initdb', 'postgres']) {
    const file = join(folder, name);
    if (spawnSync(file, ['--version']).status !== 0) chmodSync(file, 0o755);
  }
  return folder;
}

/** Gives the folder to the runner's owner. At another place, or run another way, it may have had another owner. */
function ownFolder(dataDir: string, { owner }: PostgresRunner): void {
  if (owner === undefined || statSync(dataDir).uid === owner.uid) return;
  if (existsSync(join(dataDir, 'PG_VERSION'))) spawnSync('chown', ['-R', `${owner.uid}:${owner.gid}`, dataDir]);
  chownSync(dataDir, owner.uid, owner.gid);
}

function writeOwned(file: string, content: string, { owner }: PostgresRunner): void {
  writeFileSync(file, content, { mode: 0o600 });
  if (owner !== undefined) chownSync(file, owner.uid, owner.gid);
}

async function initialise(dataDir: string, runner: PostgresRunner): Promise<void> {
  if (existsSync(join(dataDir, 'PG_VERSION'))) return;
  const passwordFile = `${dataDir}.password`;
  const logFile = `${dataDir}.initdb.log`;
  writeOwned(passwordFile, `${USER}\n`, runner);
  const password = openSync(passwordFile, 'r');
  const log = openSync(logFile, 'w');
  try {
    const args = ['--pgdata', dataDir, '--username', USER, '--auth', 'scram-sha-256', '--pwfile', '/dev/stdin'];
    const [command = '', ...rest] = [
      ...runner.wrap,
      join(runner.binFolder, 'initdb'),
      ...args,
      '--encoding',
      'UTF8',
      '--no-locale',
      '--no-sync',
    ];
    const child = spawn(command, rest, {
      cwd: '/',
      stdio: [password, log, log],
      ...runner.identity,
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
  where: PostgresOptions & { readonly logFile: string },
  runner: PostgresRunner,
): Promise<Part> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: where.port,
    unix_socket_directories: '',
    max_connections: 100,
    log_min_messages: 'warning',
    ...where.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [command = '', ...args] = [...runner.wrap, join(runner.binFolder, 'postgres'), '-D', where.dataDir, ...flags];
  for (let tries = 1; ; tries += 1) {
    const part = spawnPart({
      name: 'Postgres',
      command,
      args,
      logFile: where.logFile,
      stopSignal: 'INT',
      ...runner.identity,
    });
    try {
      await waitUntilReady(part, () => pingDatabase(serverUrl(where.port)).then(() => true), START_TIMEOUT_MS);
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
    // It has ended meanwhile.
  }
}
