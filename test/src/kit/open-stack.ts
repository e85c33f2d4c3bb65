import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { checkTraffic } from '@makerbook/contracts-http/testing';
import {
  divideRights,
  type ProcessEntry,
  readProcessesFile,
  readStackEnvironment,
  readStackFile,
  runStack,
} from '@makerbook/local-stack';
import { PartError, testParts, untilFrozen } from '@makerbook/parts';

/** A whole Makerbook for one test file. It has one process for each service, and its own chain. */
export type OpenStack = ReturnType<typeof describeStack>;

export interface OpenStackOptions {
  /** Starts its own Kafka, Postgres and Redis, for tests that take them down. */
  readonly ownParts: boolean;
  /** Settings of the services that the test changes. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Environment of single services, keyed by name. It overrides the common settings. */
  readonly own?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Receives what the stack would write to the terminal, for example which process is restarted. */
  readonly report?: (line: string) => void;
}

type Services = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>;

/** Settings that make budgets and client limits too large to matter. */
export const UNBOUNDED = {
  ORDER_BUDGET_PER_SECOND: '1000000',
  ORDER_BUDGET_BURST: '1000000',
  LIST_BUDGET_PER_SECOND: '1000000',
  LIST_BUDGET_BURST: '1000000',
  CANCEL_BUDGET_PER_SECOND: '1000000',
  CANCEL_BUDGET_BURST: '1000000',
  CLIENT_REQUESTS_MAX: '10000000',
  CANCEL_REQUESTS_MAX: '10000000',
};
const READY_MS_MAX = 400_000;
/** The variable that names the data folder of a running stack, to test that stack. */
export const TEST_STACK_VARIABLE = 'MAKERBOOK_TEST_STACK';

/**
 * Starts the stack that `npm start` starts, on a free port and in its own folder. If MAKERBOOK_TEST_STACK names the
 * data folder of a running stack, uses that stack instead, unless the test needs its own parts.
 */
export async function openStack({ ownParts, settings = {}, own = {}, report }: OpenStackOptions): Promise<OpenStack> {
  const other = process.env[TEST_STACK_VARIABLE];
  if (other !== undefined && !ownParts) return describeStack(other, async () => undefined);
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-e2e-'));
  const name = randomBytes(4).toString('hex');
  const topicPrefix = ownParts ? '' : `e2e-${name}.`;
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const environment: Record<string, string | undefined> = {
    ...inherited,
    PORT: '0',
    MAKERBOOK_DATA: folder,
    TOPIC_PREFIX: topicPrefix,
    REDIS_KEY_PREFIX: `e2e-${name}:`,
    LOG_LEVEL: 'warn',
    // Tests move the clock of the chain, and those of services.
    BLOCK_AHEAD_SECONDS_MAX: '100000',
    ...(ownParts ? {} : await sharedParts()),
    ...settings,
  };
  // Divide the rights as the stack does with its own Postgres.
  const shared = environment['DATABASE_URL'];
  const rights: Services = shared === undefined ? {} : await divideRights(shared);
  const lines: string[] = [];
  const note = (line: string) => {
    lines.push(line);
    report?.(line);
  };
  const ofServices = Object.fromEntries(
    [...new Set([...Object.keys(rights), ...Object.keys(own)])].map((name) => [
      name,
      { ...rights[name], ...own[name] },
    ]),
  );
  const run = runStack(readStackEnvironment(environment), environment, note, ofServices);
  await run.ready.catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true });
    // Report the end of the log, because its folder is gone.
    if (error instanceof PartError) lines.push(error.message, error.logTail);
    throw new Error(`the stack did not start: ${lines.join('\n')}`, { cause: error });
  });

  return describeStack(folder, async () => {
    await run.stop();
    rmSync(folder, { recursive: true, force: true });
  });
}

/** Describes a running stack from the files in its data folder. */
function describeStack(folder: string, stop: () => Promise<void>) {
  const addresses = readStackFile(folder);
  const shared = readProcessesFile(folder)?.settings;
  if (addresses === undefined || shared === undefined) throw new Error(`no stack runs on ${folder}`);
  const killed = new Set<number>();
  const { origin } = new URL(addresses.baseUrl);
  // No part of the interface: what leads to the page /docs, what that page loads, and what the local stack says of
  // itself.
  const endTraffic = checkTraffic(
    (url) => url.origin === origin && !/^\/($|readyz$|(docs|local)\/)/.test(url.pathname),
  );
  /** Every process that runs now, with its pid and ports. */
  const processes = (): readonly ProcessEntry[] => readProcessesFile(folder)?.processes ?? [];
  /** @throws Error if no process of that name runs */
  const processOf = (wanted: string): ProcessEntry => {
    const entry = processes().find(({ name }) => name === wanted);
    if (entry === undefined) throw new Error(`the stack runs no ${wanted}`);
    return entry;
  };
  return {
    addresses,
    /** The folder of its data and logs. */
    folder,
    topicPrefix: shared['TOPIC_PREFIX'] ?? '',
    /** Environment of the operator's commands. */
    operatorEnvironment: { ...shared, KAFKA_BROKERS: addresses.kafkaBrokers, LOG_LEVEL: 'error' } as Record<
      string,
      string
    >,
    processes,
    processOf,
    /** The port of a service's API. */
    portOf: (wanted: string) => processOf(wanted).port ?? 0,
    /** The base URL of a service's `/readyz` and `/metrics`. */
    opsUrl: (wanted: string) => `http://127.0.0.1:${processOf(wanted).opsPort}`,
    /** Sends a signal to processes, all at the same instant. Those that end restart after half a second or so. */
    signal(signal: NodeJS.Signals, ...names: string[]): void {
      const pids = names.map((wanted) => processOf(wanted).pid);
      for (const pid of pids) process.kill(pid, signal);
      if (signal === 'SIGKILL') for (const pid of pids) killed.add(pid);
    },
    /** Sends SIGSTOP to a process, and waits until it has stopped. */
    async freeze(wanted: string): Promise<void> {
      const { pid } = processOf(wanted);
      process.kill(pid, 'SIGSTOP');
      await untilFrozen(pid);
    },
    /** Waits until the killed processes run again and all are ready. @returns the last thing waited for, or '' */
    async ready(): Promise<string> {
      const deadline = Date.now() + READY_MS_MAX;
      let last = '';
      while (Date.now() < deadline) {
        const dead = processes().filter(({ pid }) => killed.has(pid));
        const missing = dead.length > 0 ? dead.map(({ name }) => `${name} was killed`) : await findUnready(processes());
        if (missing.length === 0) return last;
        last = missing.join(', ');
        await pause(100);
      }
      throw new Error(`the stack is not ready after ${READY_MS_MAX} ms: ${last}`);
    },
    /** @throws if an answer that the test got by `fetch` was not as openapi.json describes it */
    async stop(): Promise<void> {
      await stop();
      endTraffic();
    },
  };
}

/** The answer of each process that is not ready, with its name. */
async function findUnready(processes: readonly ProcessEntry[]): Promise<string[]> {
  const answers = processes.map(async ({ name, opsPort }) => {
    if (opsPort === undefined) return [];
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return [];
    return [`${name}: ${(await answer?.text().catch(() => undefined)) ?? 'no answer'}`];
  });
  return (await Promise.all(answers)).flat();
}

async function sharedParts(): Promise<Record<string, string>> {
  const parts = testParts();
  return {
    KAFKA_BROKERS: parts.kafkaBrokers,
    REDIS_URL: parts.redisUrl,
    DATABASE_URL: await parts.databaseUrl(),
  };
}
