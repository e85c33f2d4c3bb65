import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePorts } from '@makerbook/parts';

export type Environment = Readonly<Record<string, string>>;

export type Services = ReturnType<typeof runServices>;

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
  readonly opsPort: number;
  readonly exited: Promise<void>;
  isEnding: boolean;
}

const READY_MS_MAX = 400_000;
const LINES = 12;
const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs services as child processes, started and ended on request. @param folder for the logs of the processes */
export function runServices(folder: string, environment: Environment) {
  const services = new Map<string, Running>();
  const names = new Set<string>();
  let failure: Error | undefined;
  const logFile = (name: string) => join(folder, `${name}.log`);
  // The processes must not outlive a run that breaks off.
  const killAll = () => {
    for (const { child } of services.values()) child.kill('SIGKILL');
  };
  process.once('exit', killAll);

  /** Sends SIGTERM and waits until the process has ended. */
  async function end(name: string): Promise<void> {
    const service = services.get(name);
    if (service === undefined) return;
    service.isEnding = true;
    service.child.kill('SIGTERM');
    await service.exited;
  }
  const lastLines = () =>
    [...names]
      .map(
        (name) => `-- ${name}\n${readFileSync(logFile(name), 'utf8').trimEnd().split('\n').slice(-LINES).join('\n')}`,
      )
      .join('\n');
  /** @throws Error with its last lines if a service ended by itself */
  const assertAlive = () => {
    if (failure !== undefined) throw failure;
  };

  return {
    /**
     * Starts `services/<service>` under a name. It becomes ready later.
     * @param checkout the root of the built checkout whose code it runs
     */
    async start(name: string, service: string, settings: Environment = {}, checkout = root): Promise<void> {
      const [port = 0, opsPort = 0] = await findFreePorts(2);
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
      const running: Running = { child, port, opsPort, exited, isEnding: false };
      services.set(name, running);
    },
    end,
    /** Waits until each running service is ready. @throws Error if one ended by itself */
    async ready(): Promise<void> {
      const deadline = Date.now() + READY_MS_MAX;
      for (const [name, { opsPort }] of services) {
        while (!(await isReady(opsPort))) {
          assertAlive();
          if (Date.now() > deadline) throw new Error(`${name} is not ready\n${lastLines()}`);
          await pause(30);
        }
      }
    },
    assertAlive,
    processOf(name: string) {
      const service = services.get(name);
      if (service === undefined) throw new Error(`${name} does not run\n${lastLines()}`);
      return { pid: service.child.pid ?? 0, port: service.port, opsPort: service.opsPort };
    },
    async stop(): Promise<void> {
      await Promise.all([...services.keys()].map(end));
      process.off('exit', killAll);
    },
  };
}

function isReady(opsPort: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}
