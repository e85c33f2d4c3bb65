import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePorts } from '@makerbook/parts';

export type Environment = Readonly<Record<string, string>>;

/** Services as processes of their own, started and ended on request. */
export interface Services {
  /**
   * Starts `services/<service>` under a name, on the ports that it had before. It becomes ready later.
   * @param checkout the root of another checkout, built, whose code it runs
   */
  start(name: string, service: string, settings?: Environment, checkout?: string): Promise<void>;
  /** Sends the signal and waits until the process has ended. */
  end(name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Waits until each of these, or each that runs, has said once that it is ready. @throws Error of one that ended by itself */
  ready(names?: readonly string[]): Promise<void>;
  /** @throws Error with its last lines, where a service ended though nobody ended it */
  assertAlive(): void;
  url(name: string): string;
  /** The process of a service, and where it tells its health and metrics. */
  processOf(name: string): { readonly pid: number; readonly opsUrl: string };
  stop(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
  readonly opsPort: number;
  readonly exited: Promise<void>;
  isEnding: boolean;
  wasReady: boolean;
}

const READY_MS_MAX = 180_000;
const READY = 'ready';
const LINES = 12;
const root = fileURLToPath(new URL('../../..', import.meta.url));

/** @param folder for the logs of the processes */
export function runServices(folder: string, environment: Environment): Services {
  const services = new Map<string, Running>();
  const names = new Set<string>();
  const ports = new Map<string, readonly number[]>();
  let failure: Error | undefined;
  const logFile = (name: string) => join(folder, `${name}.log`);
  // They must not outlive a run that breaks off.
  const killAll = () => {
    for (const { child } of services.values()) child.kill('SIGKILL');
  };
  process.once('exit', killAll);

  async function end(name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const service = services.get(name);
    if (service === undefined) return;
    service.isEnding = true;
    service.child.kill(signal);
    await service.exited;
  }
  const runningOne = (name: string): Running => {
    const service = services.get(name);
    if (service === undefined) throw new Error(`${name} does not run\n${lastLines()}`);
    return service;
  };
  const lastLines = () =>
    [...names]
      .map(
        (name) => `-- ${name}\n${readFileSync(logFile(name), 'utf8').trimEnd().split('\n').slice(-LINES).join('\n')}`,
      )
      .join('\n');
  const assertAlive = () => {
    if (failure !== undefined) throw failure;
  };

  return {
    async start(name, service, settings = {}, checkout = root) {
      const own = ports.get(name) ?? (await findFreePorts(2));
      ports.set(name, own);
      const [port = 0, opsPort = 0] = own;
      const log = openSync(logFile(name), 'a');
      const entry = join(checkout, 'services', service, 'dist', 'main.js');
      const env = {
        PATH: process.env['PATH'],
        NODE_ENV: 'production',
        ...environment,
        ...settings,
        PORT: String(port),
        OPS_PORT: String(opsPort),
      };
      const child = spawn(process.execPath, ['--enable-source-maps', entry], { env, stdio: ['ignore', log, log] });
      closeSync(log);
      names.add(name);
      const exited = new Promise<void>((resolve) => {
        child.once('exit', (code, signal) => {
          if (!running.isEnding) {
            failure ??= new Error(`${name} ended by itself (${signal ?? `exit code ${code}`})\n${lastLines()}`);
          }
          services.delete(name);
          resolve();
        });
      });
      const running: Running = { child, port, opsPort, exited, isEnding: false, wasReady: false };
      services.set(name, running);
    },
    end,
    async ready(wanted = [...services.keys()]) {
      const deadline = Date.now() + READY_MS_MAX;
      for (const name of wanted) {
        const service = runningOne(name);
        for (let answer = ''; !service.wasReady; await pause(30)) {
          assertAlive();
          if (Date.now() > deadline) throw new Error(`${name} is not ready: ${answer}\n${lastLines()}`);
          answer = await askReady(service);
          service.wasReady = answer === READY;
        }
      }
    },
    assertAlive,
    url: (name) => `http://127.0.0.1:${runningOne(name).port}`,
    processOf(name) {
      const { child, opsPort } = runningOne(name);
      return { pid: child.pid ?? 0, opsUrl: `http://127.0.0.1:${opsPort}` };
    },
    async stop() {
      await Promise.all([...services.keys()].map((name) => end(name, 'SIGTERM')));
      process.off('exit', killAll);
    },
  };
}

function askReady({ opsPort }: Running): Promise<string> {
  return fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
    async (response) => (response.ok ? READY : response.text()),
    () => 'no answer',
  );
}
