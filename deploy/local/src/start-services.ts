import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createRoles, findFreePorts, logTail, PartError, spawnPart } from '@makerbook/parts';
import { rights, roleOf } from '@makerbook/postgres';
import { askReadiness, describeReadiness } from './check-readiness.js';
import type { Environment } from './service-environment.js';
import { type Supervised, type Supervision, supervise } from './supervise.js';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..', '..');
const READY_TIMEOUT_MS = 120_000;
const READY_POLL_MS = 100;
const ENDINGS_MAX = 3;
const STOP_TIMEOUT_MS = 25_000;
const ADMIT_TRIES = 3;

/** Services stop in the reverse order: those that take requests stop first. */
function listServices(chainWatchers: number) {
  const watcher = { service: 'chain-watcher', hasApi: false, hasConsole: false };
  return [
    { name: 'projector', service: 'projector', hasApi: false, hasConsole: false },
    { name: 'chain-watcher', ...watcher },
    ...Array.from({ length: chainWatchers - 1 }, (_, index) => ({ name: `chain-watcher-${index + 2}`, ...watcher })),
    { name: 'feed', service: 'feed', hasApi: true, hasConsole: true },
    { name: 'query', service: 'query', hasApi: true, hasConsole: false },
    { name: 'ingress', service: 'ingress', hasApi: true, hasConsole: false },
  ];
}

/** A running service. `port` is that of its API and `consolePort` that of its console, if it has them. */
export type RunningService = Supervised & {
  readonly port?: number;
  readonly consolePort?: number;
  readonly opsPort: number;
};

/** Returns the path of the compiled entry of a package's process. */
export function entryOf(folder: string, file = 'main.js'): string {
  return join(ROOT, folder, 'dist', file);
}

/**
 * Brings the schema up to this build, and creates the topics that are missing.
 * @throws PartError if the schema or a topic is not as this build needs it
 */
export async function prepareStores(environment: Environment): Promise<void> {
  await runOperator(['migrate'], environment, 'the schema cannot be brought up to this build');
  await runOperator(['topics'], environment, 'the topics are not as configured');
}

/**
 * Creates a role in Postgres for each service that has rights there, as in production. `operator migrate` grants the
 * rights.
 * @param databaseUrl URL with a user who may create roles
 * @returns `DATABASE_URL`, keyed by the name of the service
 */
export async function divideRights(databaseUrl: string): Promise<Readonly<Record<string, Environment>>> {
  const services = listServices(1).flatMap(({ service }) => (roleOf(service) in rights ? [service] : []));
  const urls = await createRoles(databaseUrl, services.map(roleOf));
  return Object.fromEntries(services.map((service) => [service, { DATABASE_URL: urls[roleOf(service)] }]));
}

/**
 * Puts a maker on the whitelist, and waits until the starting services see it. It tries a few times: on a busy machine
 * the log may not answer the command in time.
 * @throws PartError with the last output of the command
 */
export async function admitMaker(maker: string, environment: Environment, signal: AbortSignal): Promise<void> {
  const patient = { ...environment, VISIBLE_WITHIN_MS: String(READY_TIMEOUT_MS) };
  for (let tries = 1; ; tries += 1) {
    try {
      await runOperator(['makers', 'add', maker], patient, `${maker} cannot be put on the whitelist`, signal);
      return;
    } catch (error) {
      if (tries === ADMIT_TRIES || signal.aborted) throw error;
    }
  }
}

/** Returns all decisions about a maker, as JSON. The command reads the maker's partition of the log from its start. */
export function readDecisions(maker: string, environment: Environment): Promise<string> {
  return runOperator(
    ['makers', 'history', maker, '--json'],
    environment,
    `the decisions about ${maker} cannot be read`,
  );
}

/** @returns the output of the command */
async function runOperator(
  words: readonly string[],
  env: Environment,
  failure: string,
  signal?: AbortSignal,
): Promise<string> {
  try {
    const { stdout } = await run(process.execPath, [entryOf('services/operator'), ...words], { env, signal });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw new PartError(words.join(' '), `${failure}: ${`${stdout}${stderr}`.trim() || message}`);
  }
}

/**
 * Starts each service as a process of its own, on ports of its own. They become ready later.
 * @param environmentOf returns the environment of a process, by its name
 */
export async function startServices(
  chainWatchers: number,
  environmentOf: (name: string) => Environment,
  logFolder: string,
  supervision: Supervision,
  keep: (service: RunningService) => void,
): Promise<void> {
  const services = listServices(chainWatchers);
  const ports = await findFreePorts(3 * services.length);
  const metrics = services.map(({ name }, index) => `${name}=http://127.0.0.1:${ports[3 * index]}`);
  for (const [index, { name, service, hasApi, hasConsole }] of services.entries()) {
    const [opsPort = 0, apiPort = 0, consolePort = 0] = ports.slice(3 * index);
    const entry = entryOf(`services/${service}`);
    if (!existsSync(entry)) throw new PartError(name, `${entry} is missing: run \`npm run build\``);
    const env = {
      CONSOLE_METRICS: metrics.join(','),
      ...environmentOf(name),
      OPS_PORT: String(opsPort),
      ...(hasApi ? { PORT: String(apiPort) } : {}),
      ...(hasConsole ? { CONSOLE_PORT: String(consolePort) } : {}),
    };
    const part = await startNode(name, entry, env, logFolder, supervision);
    keep({ ...part, opsPort, ...(hasApi ? { port: apiPort } : {}), ...(hasConsole ? { consolePort } : {}) });
  }
}

/** Starts a Node.js process, and starts it again whenever it ends. */
export function startNode(
  name: string,
  entry: string,
  env: Environment,
  logFolder: string,
  supervision: Supervision,
): Promise<Supervised> {
  const logFile = join(logFolder, `${name}.log`);
  const args = ['--enable-source-maps', entry];
  const command = { name, command: process.execPath, args, env, logFile, stopTimeoutMs: STOP_TIMEOUT_MS };
  return supervise(name, async () => spawnPart(command), supervision);
}

/**
 * Waits until each service is ready.
 * @throws PartError with the failed checks if a service keeps ending, or is not ready after two minutes
 */
export async function awaitReadiness(services: readonly RunningService[], signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (const service of services) {
    for (;;) {
      const readiness = await askReadiness(`http://127.0.0.1:${service.opsPort}`);
      if (readiness.isReady || signal.aborted) break;
      const fallen = services.find(({ endings }) => endings() >= ENDINGS_MAX);
      if (fallen !== undefined) {
        const { logFile } = fallen.current();
        throw new PartError(fallen.name, `${fallen.name} keeps ending, see ${logFile}`, logTail({ logFile }));
      }
      if (performance.now() > deadline) {
        const missing = describeReadiness(readiness);
        const message = `${service.name} is not ready after ${READY_TIMEOUT_MS / 1000} s (${missing})`;
        throw new PartError(service.name, message, logTail(service.current()));
      }
      await delay(READY_POLL_MS);
    }
  }
}
