import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startTimeOf } from '@makerbook/parts';
import type { DeployedPool } from './deploy-contracts.js';
import type { DeployedToken } from './fund-makers.js';

const LEFTOVER_WAIT_MS = 15_000;

/** `stack.json`: the addresses, for makers, demos and tests. It exists while the stack is ready. */
export type StackFile = {
  readonly baseUrl: string;
  /** URL of the operators' page, if it is on. */
  readonly consoleUrl?: string | undefined;
  readonly kafkaBrokers: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly serviceName: string;
  readonly limitOrderProtocol: string;
  readonly navigator: string;
  readonly multicall: string;
  readonly orderFiller: string;
  readonly tokens: readonly DeployedToken[];
  readonly pools: readonly DeployedPool[];
  readonly quoteSigners: readonly string[];
};

/** One process of the stack, with its own ports. The ops port has `/readyz` and `/metrics`. */
export type ProcessEntry = {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  readonly port?: number;
  readonly opsPort?: number;
};

/** `processes.json`: the processes of the running stack, updated at restarts. */
export type ProcessesFile = {
  readonly supervisorPid: number;
  /** Settings that commands beside the stack share with it. */
  readonly settings: Readonly<Record<string, string>>;
  readonly processes: readonly ProcessEntry[];
};

type StoredProcesses = Omit<ProcessesFile, 'processes'> & {
  readonly processes: readonly (ProcessEntry & { readonly started: string | undefined })[];
};

export function writeStackFile(folder: string, content: StackFile): void {
  writeWhole(join(folder, 'stack.json'), content);
}

/** Reads `stack.json`. @returns undefined if no stack is ready on that folder */
export function readStackFile(folder: string): StackFile | undefined {
  return readJson(join(folder, 'stack.json')) as StackFile | undefined;
}

export function writeProcessesFile(folder: string, content: ProcessesFile): void {
  const processes = content.processes.map((entry) => ({ ...entry, started: startTimeOf(entry.pid) }));
  writeWhole(join(folder, 'processes.json'), { ...content, processes } satisfies StoredProcesses);
}

/** Reads `processes.json`. @returns undefined if no stack runs on that folder */
export function readProcessesFile(folder: string): ProcessesFile | undefined {
  return readJson(join(folder, 'processes.json')) as ProcessesFile | undefined;
}

export function removeStackFiles(folder: string): void {
  for (const name of ['stack.json', 'processes.json']) rmSync(join(folder, name), { force: true });
}

/**
 * Waits until the last processes of a killed supervisor have ended (`killWithParent` ends them), and kills what is left
 * after 15 s. Call it with the folder's lock held.
 */
export async function awaitLeftovers(folder: string): Promise<void> {
  const stored = readJson(join(folder, 'processes.json')) as StoredProcesses | undefined;
  const left = () =>
    (stored?.processes ?? []).filter(({ pid, started }) => started !== undefined && startTimeOf(pid) === started);
  const deadline = performance.now() + LEFTOVER_WAIT_MS;
  while (left().length > 0 && performance.now() < deadline) await delay(100);
  for (const { pid } of left()) process.kill(-pid, 'SIGKILL');
}

/** Readers see the old file or the new one, never a part. */
function writeWhole(file: string, content: unknown): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(content, undefined, 2)}\n`);
  renameSync(`${file}.new`, file);
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
