import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isPortFree } from './find-free-ports.js';
import { killWithParent, releaseFromParent, type StopSignal } from './kill-with-parent.js';
import { untilFrozen } from './read-processes.js';

const LOG_TAIL_LINES = 20;
const PROBE_INTERVAL_MS = 50;

const livingParts = new Set<Part>();
let isClosed = false;

/** How a process ended. */
export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** A running process of the local stack, leader of its own process group. */
export type Part = {
  readonly name: string;
  readonly pid: number;
  /** The process appends its output to this file. */
  readonly logFile: string;
  /** The offset of this process's output in the log file, in bytes. */
  readonly logStart: number;
  /** Resolves when the process has ended for any reason. */
  readonly exited: Promise<Exit>;
  /** Sends the process its stop signal, waits for its end, and kills it if that takes too long. Can be repeated. */
  stop(): Promise<void>;
  /** Sends a signal to the whole process group (SIGKILL, SIGSTOP, SIGCONT…). */
  kill(signal: NodeJS.Signals): void;
  /** Sends SIGSTOP and waits until the process has stopped. SIGCONT resumes it. */
  freeze(): Promise<void>;
};

export type PartCommand = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Created if missing. The process appends to it. */
  readonly logFile: string;
  readonly stopSignal?: StopSignal;
  readonly stopTimeoutMs?: number;
};

/** A part could not start. The message says in one sentence what to do. `logTail` holds the last lines of its log. */
export class PartError extends Error {
  readonly part: string;
  readonly logTail: string;

  constructor(part: string, message: string, logTail = '') {
    super(message);
    this.name = 'PartError';
    this.part = part;
    this.logTail = logTail;
  }
}

/**
 * Starts a process that ends with this one (`killWithParent`). It has a process group of its own. So Ctrl-C in the
 * terminal reaches only the supervisor, which then stops its parts in order.
 */
export function spawnPart(command: PartCommand): Part {
  if (isClosed) throw new PartError(command.name, `${command.name} does not start: everything is being stopped`);
  mkdirSync(dirname(command.logFile), { recursive: true });
  const log = openSync(command.logFile, 'a');
  const logStart = fstatSync(log).size;
  const child = spawn(command.command, [...command.args], {
    cwd: command.cwd ?? '/',
    env: command.env ?? process.env,
    detached: true,
    stdio: ['ignore', log, log],
    ...(command.uid === undefined ? {} : { uid: command.uid }),
    ...(command.gid === undefined ? {} : { gid: command.gid }),
  });
  closeSync(log);
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: 127, signal: null }));
  });
  const pid = child.pid;
  if (pid === undefined)
    throw new PartError(command.name, `${command.name} does not start: cannot run ${command.command}`);
  const stopSignal = command.stopSignal ?? 'TERM';
  killWithParent(pid, stopSignal);
  let stopping: Promise<void> | undefined;
  const part: Part = {
    name: command.name,
    pid,
    logFile: command.logFile,
    logStart,
    exited,
    stop() {
      stopping ??= stopChild(child, exited, stopSignal, command.stopTimeoutMs ?? 15_000);
      return stopping;
    },
    kill(signal) {
      signalGroup(pid, signal);
    },
    freeze() {
      signalGroup(pid, 'SIGSTOP');
      return untilFrozen(pid);
    },
  };
  livingParts.add(part);
  void exited.then(() => {
    releaseFromParent(pid);
    livingParts.delete(part);
  });
  return part;
}

/** Stops every part of this process at once, even those that are still starting, and lets no other part start. */
export async function stopLivingParts(): Promise<void> {
  isClosed = true;
  await Promise.all([...livingParts].map((part) => part.stop()));
}

/**
 * Waits until the part answers.
 * @param probe tells whether the part answers; a rejection counts as "not yet"
 * @throws PartError if the process ends first, or after `timeoutMs`, when it stops the part
 */
export async function waitUntilReady(part: Part, probe: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let ended: Exit | undefined;
  void part.exited.then((exit) => {
    ended = exit;
  });
  while (Date.now() < deadline) {
    if (ended !== undefined) {
      const how = ended.signal === null ? `exit code ${ended.code}` : ended.signal;
      throw new PartError(part.name, `${part.name} ended while starting (${how}), see ${part.logFile}`, logTail(part));
    }
    if (await probe().catch(() => false)) return;
    await delay(PROBE_INTERVAL_MS);
  }
  await part.stop();
  throw new PartError(
    part.name,
    `${part.name} did not answer within ${Math.round(timeoutMs / 1000)} s, see ${part.logFile}`,
    logTail(part),
  );
}

/**
 * Checks before the start that the port is free: on a used port another process would answer.
 * @throws PartError when the port is in use
 */
export async function requireFreePort(partName: string, port: number): Promise<void> {
  if (!(await isPortFree(port, '127.0.0.1')))
    throw new PartError(partName, `${partName} cannot listen: port ${port} is in use`);
}

/** Returns the last lines that a process wrote. */
export function logTail(
  part: { readonly logFile: string; readonly logStart?: number },
  lines = LOG_TAIL_LINES,
): string {
  try {
    return readFileSync(part.logFile)
      .subarray(part.logStart ?? 0)
      .toString('utf8')
      .trimEnd()
      .split('\n')
      .slice(-lines)
      .join('\n');
  } catch {
    return '';
  }
}

async function stopChild(
  child: ChildProcess,
  exited: Promise<Exit>,
  signal: StopSignal,
  timeoutMs: number,
): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  signalGroup(child.pid, 'SIGCONT');
  signalGroup(child.pid, `SIG${signal}`);
  const timeout = new AbortController();
  const killed = delay(timeoutMs, 'late', { signal: timeout.signal }).catch(() => 'in time');
  const first = await Promise.race([exited, killed]);
  timeout.abort();
  if (first === 'late') signalGroup(child.pid, 'SIGKILL');
  await exited;
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // The group may have ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
