import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TopicWriter } from '@makerbook/chain-watcher/testing';
import { readStackEnvironment, type Supervised, startParts } from '@makerbook/local-stack';
import { openTcpGate, type StrictNode, type TcpGate } from '@makerbook/parts';
import { eventually } from '../kit/eventually.js';
import { type OpenStack, openStack } from '../kit/open-stack.js';
import { KeptBlocks } from './keep-blocks.js';
import { askAll, KAIA_KAFKA, startSources } from './start-sources.js';

const CALLS = {
  ingress: ['Kafka', 'Postgres'],
  query: ['Kafka', 'Redis', 'Postgres'],
  projector: ['Kafka', 'Postgres'],
  'chain-watcher': ['Kafka', 'anvil', KAIA_KAFKA],
  'chain-watcher-2': ['Kafka', 'anvil', KAIA_KAFKA],
} as const;
export const SERVICES = Object.keys(CALLS);
type PartName = (typeof CALLS)[keyof typeof CALLS][number];

const PRELOADS = ['../kit/reroute-connections.js', './jump-clock.js'];

/** The load must not hit a limit of a maker or of an address. */
const settings = {
  CHAIN_WATCHERS: '2',
  MAX_OPEN_ORDERS_PER_MAKER: '100000',
  ORDER_BUDGET_BURST: '10000',
  CLIENT_REQUESTS_MAX: '1000000',
  CANCEL_REQUESTS_MAX: '1000000',
};

/** One of two watchers reads at the head sooner, and with many small requests. */
const smallSteps = { CATCH_UP_BLOCKS_MAX: '3', MULTICALL_CALLS_MAX: '3' };

export interface BedOptions {
  /** One broker, or three of which any one may be lost. */
  readonly brokers: 1 | 3;
  /** Draws what the topic lacks and repeats. If absent, the watchers have no topic. */
  readonly topicSeed?: number;
  /** A router that makers can wait for. */
  readonly router?: string;
}

export async function openBed({ brokers, topicSeed, router = '' }: BedOptions): Promise<ChaosBed> {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-chaos-'));
  // Root runs Postgres as another user, who needs to enter this folder.
  chmodSync(folder, 0o711);
  const supervised: Supervised[] = [];
  const closing: (() => Promise<void>)[] = [];
  const restarts: string[] = [];
  const report = (line: string) => void restarts.push(`${Math.round(performance.now())} ms: ${line}`);
  let stack: OpenStack | undefined;
  const stop = async () => {
    await stack?.stop();
    for (const close of closing.splice(0).reverse()) await close();
    await Promise.all(supervised.map((part) => part.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const supervision = { report, onStart: () => undefined };
    const folders = { data: folder, logs: join(folder, 'logs') };
    const keep = (part: Supervised) => supervised.push(part);
    const { rpcUrl, harmed, topic, settings: sources } = await startSources(folders, supervision, keep, topicSeed);
    closing.push(async () => topic?.close());
    const chain = new KeptBlocks((questions) => askAll(rpcUrl, questions));
    closing.push(() => chain.end());
    const environment = readStackEnvironment({ KAFKA_NODES: String(brokers), RPC_URL: rpcUrl });
    const addresses = await startParts(environment, folders, supervision, keep);
    restarts.length = 0;
    const urls = {
      Kafka: addresses.kafkaBrokers.split(',').map((address) => `kafka://${address}`),
      Redis: [addresses.redisUrl],
      Postgres: [addresses.databaseUrl],
      anvil: [harmed().url],
      [KAIA_KAFKA]: topic === undefined ? [] : [`kafka://${topic.brokers}`],
    };
    const links = new Map<string, TcpGate[]>();
    const open = async (link: string, url: string) => {
      const gate = await openTcpGate(url);
      closing.push(gate.close);
      links.set(link, [...(links.get(link) ?? []), gate]);
      return `${new URL(url).port}:${new URL(gate.url).port}`;
    };
    mkdirSync(join(folder, 'clocks'));
    const clockFile = (service: string) => join(folder, 'clocks', service);
    const own: Record<string, Record<string, string>> = {};
    for (const [service, parts] of Object.entries<readonly PartName[]>(CALLS)) {
      const routes: string[] = [];
      for (const part of parts) for (const url of urls[part]) routes.push(await open(`${service} ${part}`, url));
      own[service] = {
        NODE_OPTIONS: PRELOADS.map((file) => `--import=${new URL(file, import.meta.url)}`).join(' '),
        REROUTE: routes.join(','),
        CLOCK_FILE: clockFile(service),
        ...(service.startsWith('chain-watcher') && sources),
        ...(service === 'chain-watcher-2' ? smallSteps : {}),
      };
    }
    stack = await openStack({
      ownParts: true,
      own,
      settings: {
        ...settings,
        KAFKA_BROKERS: addresses.kafkaBrokers,
        DATABASE_URL: addresses.databaseUrl,
        REDIS_URL: addresses.redisUrl,
        RPC_URL: rpcUrl,
        TOPIC_REPLICATION_FACTOR: String(brokers),
        ROUTERS: router,
      },
      report,
    });
    await open('clients', stack.addresses.baseUrl);
    const writer = topic?.writer;
    return describeBed({ folder, stack, supervised, chain, harmed, writer, rpcUrl, links, restarts, clockFile, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A whole Makerbook in which each process, and each connection between two of them, can be harmed alone. */
export type ChaosBed = ReturnType<typeof describeBed>;

interface BedParts {
  readonly folder: string;
  readonly stack: OpenStack;
  readonly supervised: readonly Supervised[];
  /** The blocks, and what the contracts said after each. */
  readonly chain: KeptBlocks;
  readonly rpcUrl: string;
  /** The node that the watchers ask. */
  readonly harmed: () => StrictNode;
  /** Writes the topic of the node of Kaia. Undefined if there is none. */
  readonly writer: TopicWriter | undefined;
  /** Gates keyed by `from part`, like `ingress Kafka`, one for each broker. `clients` is before the gateway. */
  readonly links: ReadonlyMap<string, readonly TcpGate[]>;
  /** Processes that ended and were started again, a line for each, with its time by `performance.now()`. */
  readonly restarts: readonly string[];
  readonly clockFile: (service: string) => string;
  readonly stop: () => Promise<void>;
}

function describeBed(parts: BedParts) {
  const { folder, stack, supervised, rpcUrl, links, clockFile } = parts;
  const partOf = (name: string) => supervised.find((part) => part.name === name)?.current();
  return {
    ...parts,
    /** The URL that makers call, through the gate `clients`. */
    baseUrl: links.get('clients')?.[0]?.url ?? '',
    /** Names of what can be killed and frozen: services, gateway, Kafka or its brokers, Postgres, Redis, anvil. */
    names: [...supervised.map(({ name }) => name), ...stack.processes().map(({ name }) => name)],
    brokers: supervised.map(({ name }) => name).filter((name) => name.startsWith('Kafka')),
    pid: (name: string) => partOf(name)?.pid ?? stack.processOf(name).pid,
    /** Sends a signal to the process of that name, and to its children. Processes that end are restarted. */
    async signal(name: string, signal: NodeJS.Signals) {
      const part = partOf(name);
      // Postgres freezes as a whole only if each of its processes does.
      if (part === undefined) stack.signal(signal, name);
      else if (signal === 'SIGSTOP') await part.freeze();
      else part.kill(signal);
    },
    /** Asks the chain itself, through no gate. @throws Error if it does not answer, or answers with an error */
    askChain: async (method: string, params: readonly unknown[] = []) =>
      (await askAll(rpcUrl, [{ method, params }]))[0],
    /** Waits until everything that was harmed is ready. @returns the last thing waited for, or '' */
    async ready() {
      const dead = async () => supervised.filter((part) => !isAlive(part.current().pid)).map(({ name }) => name);
      await eventually(dead, []);
      return stack.ready();
    },
    keepLogs(to: string) {
      for (const each of [folder, stack.folder]) cpSync(join(each, 'logs'), to, { recursive: true });
    },
    setClock: (service: string, aheadMs: number) => writeFileSync(clockFile(service), String(aheadMs)),
  };
}

/** True if the process runs. A killed part has a new process as soon as it answers. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
