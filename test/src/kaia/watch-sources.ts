import { mkdirSync } from 'node:fs';
import { type BlockProcessed, decodeMakerEvent, topicNames } from '@makerbook/contracts-events';
import { connectLog, type Log } from '@makerbook/kafka';
import { migrate } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import { runOperator } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { runServices } from '../kit/run-services.js';
import type { KaiaNetwork } from './start-network.js';

/** Where a watcher takes its blocks from. */
export const SOURCES = ['polling', 'WebSocket', 'topic', 'both'] as const;
export type Source = (typeof SOURCES)[number];

export type WatchedSources = Awaited<ReturnType<typeof watchSources>>;

/** A block in a watcher's log, and when this process saw it there, by `performance.now()`. */
interface LoggedBlock {
  readonly block: BlockProcessed['block'];
  readonly atMs: number;
}

interface Parts {
  readonly kafkaBrokers: string;
  /** A database without rows. */
  readonly databaseUrl: string;
  /** Settings that name the contracts. */
  readonly contracts: Readonly<Record<string, string>>;
  /** The folder for logs. */
  readonly folder: string;
}

/** Starts a watcher for each source, each with its own log, and notes when each source had a block. */
export async function watchSources(network: KaiaNetwork, { kafkaBrokers, databaseUrl, contracts, folder }: Parts) {
  mkdirSync(folder, { recursive: true });
  await migrate({ url: databaseUrl, connectTimeoutMs: 60_000 });
  const ofTopic = { KAIA_TOPIC: network.topic, KAIA_KAFKA_BROKERS: network.kafkaBrokers };
  const ofSocket = { RPC_WS_URL: network.wsUrl };
  const settingsOf: Readonly<Record<Source, Readonly<Record<string, string>>>> = {
    polling: {},
    WebSocket: ofSocket,
    topic: ofTopic,
    both: { ...ofTopic, ...ofSocket },
  };
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'kaia-check', logger: silentLogger });
  const ofNode = connectLog({ brokers: network.kafkaBrokers.split(','), clientId: 'kaia-check', logger: silentLogger });
  const services = runServices(folder, {
    ...contracts,
    KAFKA_BROKERS: kafkaBrokers,
    DATABASE_URL: databaseUrl,
    RPC_URL: network.rpcUrl,
    CHAIN_ID: String(network.chainId),
    PARTITIONS: '1',
  });
  const blocks = new Map<Source, Map<number, LoggedBlock>>();
  for (const source of SOURCES) {
    const prefix = `${source}.`;
    await runOperator(['topics'], {
      KAFKA_BROKERS: kafkaBrokers,
      PARTITIONS: '1',
      TOPIC_PREFIX: prefix,
      TOPIC_REPLICATION_FACTOR: '1',
      LOG_LEVEL: 'error',
    });
    blocks.set(source, followBlocks(log, prefix));
    await services.start(source, 'chain-watcher', { ...settingsOf[source], TOPIC_PREFIX: prefix });
  }
  await services.ready();
  const seen = { topic: followTopic(ofNode, network.topic), node: followHeads(network.wsUrl) };
  const blocksOf = (source: Source) => blocks.get(source) ?? new Map<number, LoggedBlock>();
  return {
    blocksOf,
    /** Milliseconds from when the source had a block to when the watcher's log had it, for blocks that both have. */
    delaysOf(source: Source, numbers: readonly number[]): number[] {
      return numbers.flatMap((number) => {
        const logged = blocksOf(source).get(number)?.atMs ?? Number.NaN;
        const [topicMs = Number.NaN, nodeMs = Number.NaN] = [seen.topic.get(number), seen.node.at.get(number)];
        const hadMs = source === 'topic' ? topicMs : source === 'both' ? Math.min(topicMs, nodeMs) : nodeMs;
        return Number.isNaN(logged - hadMs) ? [] : [logged - hadMs];
      });
    },
    /** A metric of a watcher, by its name without prefix. */
    metricOf: (source: Source, name: string) => readMetric(services.processOf(source).opsPort, name),
    /** Waits until each log has the block. */
    async reached(number: number): Promise<void> {
      for (const source of SOURCES) {
        await eventually(async () => {
          services.assertAlive();
          return blocksOf(source).has(number) || `${source} has ${Math.max(...blocksOf(source).keys())}`;
        }, true);
      }
    },
    async stop(): Promise<void> {
      seen.node.stop();
      await services.stop();
      await log.close();
      await ofNode.close();
    },
  };
}

function followBlocks(log: Log, prefix: string): Map<number, LoggedBlock> {
  const blocks = new Map<number, LoggedBlock>();
  log.followTopic({
    topic: topicNames(prefix).makerEvents,
    from: 'beginning',
    onRecords: (_, records) => {
      const atMs = performance.now();
      for (const record of records) {
        const fact = decodeMakerEvent(record);
        if (!('unreadable' in fact) && fact.type === 'BlockProcessed')
          blocks.set(fact.block.number, { block: fact.block, atMs });
      }
    },
  });
  return blocks;
}

/** When the last segment of each block came, keyed by block number. */
function followTopic(log: Log, topic: string): ReadonlyMap<number, number> {
  const at = new Map<number, number>();
  log.followTopic({
    topic,
    from: 'end',
    onRecords: (_, records) => {
      for (const { key } of records) at.set(Number(key), performance.now());
    },
  });
  return at;
}

/** When the node announced each block, keyed by block number. Reconnects if the connection ends. */
function followHeads(url: string) {
  const at = new Map<number, number>();
  let socket: WebSocket | undefined;
  let isStopped = false;
  const open = () => {
    socket = new WebSocket(url);
    socket.addEventListener('open', () => {
      socket?.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
    });
    socket.addEventListener('message', ({ data }) => {
      const { params } = JSON.parse(String(data)) as { params?: { result: { number: string } } };
      if (params !== undefined) at.set(Number(params.result.number), performance.now());
    });
    socket.addEventListener('error', () => undefined);
    socket.addEventListener('close', () => isStopped || setTimeout(open, 500));
  };
  open();
  const stop = () => {
    isStopped = true;
    socket?.close();
  };
  return { at, stop };
}

async function readMetric(opsPort: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`chain_watcher_${name} `));
  return Number(line?.split(' ')[1] ?? Number.NaN);
}
