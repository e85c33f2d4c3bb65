import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Address } from '@makerbook/contracts-primitives';
import { type DeployedContracts, deployContracts } from '@makerbook/local-stack';
import { findFreePorts, type Part, startAnvil, startKafka, startPostgres, startRedis } from '@makerbook/parts';
import { driveChain } from '../kit/drive-chain.js';
import { runServices, type Services } from '../kit/run-services.js';
import { createMakers, type MakerKey } from '../kit/sign-orders.js';

/** A part that can be taken away, and brought back at the same address with what it had stored. */
export interface Outage {
  /** A part is killed, but for the chain, which would lose blocks: that one is stopped. */
  readonly takeAway: () => Promise<void>;
  readonly bringBack: () => Promise<void>;
}

/** A Makerbook whose every process can be taken away alone. */
export interface Drill {
  readonly services: Services;
  readonly outages: Readonly<Record<string, Outage>>;
  readonly contracts: DeployedContracts;
  /** On the whitelist, with tokens and an allowance. */
  readonly maker: MakerKey;
  readonly stop: () => Promise<void>;
}

export const SERVICE_NAME = 'Drilled';
const SERVICES = ['projector', 'chain-watcher', 'query', 'ingress'] as const;
const run = promisify(execFile);
const operator = fileURLToPath(new URL('../../../services/operator/dist/main.js', import.meta.url));

/** @param folder for data and logs */
export async function openDrill(folder: string, report: (line: string) => void): Promise<Drill> {
  const closing: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  try {
    const ports = await findFreePorts(4);
    const at = (name: string, index: number) => {
      const dataDir = join(folder, name);
      return { dataDir, port: ports[index] ?? 0, logFile: join(folder, 'logs', `${name}.log`), onProgress: report };
    };
    const keep = async <P extends Part>(start: () => Promise<P>, signal: 'SIGKILL' | 'stop') => {
      let part = await start();
      closing.push(() => part.stop());
      const takeAway = async () => {
        if (signal === 'stop') return part.stop();
        part.kill(signal);
        await part.exited;
      };
      const bringBack = async () => {
        part = await start();
      };
      return { part, outage: { takeAway, bringBack } };
    };
    mkdirSync(join(folder, 'logs'), { recursive: true });
    const [kafka, postgres, redis, chain] = await Promise.all([
      keep(() => startKafka(at('kafka', 0)), 'SIGKILL'),
      keep(() => startPostgres(at('postgres', 1)), 'SIGKILL'),
      keep(() => startRedis(at('redis', 2)), 'SIGKILL'),
      keep(() => startAnvil({ ...at('anvil', 3), blockTimeSeconds: 1 }), 'stop'),
    ]);
    const { rpcUrl } = chain.part;
    const contracts = await deployContracts({ rpcUrl, serviceName: SERVICE_NAME, quoteSigners: [] });
    const environment = environmentOf(contracts, {
      KAFKA_BROKERS: kafka.part.brokers,
      DATABASE_URL: postgres.part.url,
      REDIS_URL: redis.part.url,
      RPC_URL: rpcUrl,
    });
    const command = async (...words: string[]) => {
      await run(process.execPath, [operator, ...words], { env: { PATH: process.env['PATH'], ...environment } });
    };
    await command('migrate');
    await command('topics');
    const services = runServices(join(folder, 'logs'), environment);
    closing.push(services.stop);
    for (const service of SERVICES) await services.start(service, service);
    await services.ready();
    const maker = await openMaker(rpcUrl, contracts, (address) => command('makers', 'add', address));
    return {
      services,
      contracts,
      maker,
      stop,
      outages: {
        ...Object.fromEntries(SERVICES.map((name) => [name, outageOf(services, name)])),
        Redis: redis.outage,
        Postgres: postgres.outage,
        chain: chain.outage,
        Kafka: kafka.outage,
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function outageOf(services: Services, name: string): Outage {
  return {
    takeAway: () => services.end(name, 'SIGKILL'),
    bringBack: () => services.start(name, name),
  };
}

function environmentOf(contracts: DeployedContracts, addresses: Readonly<Record<string, string>>) {
  return {
    ...addresses,
    SERVICE_NAME,
    CHAIN_ID: '8217',
    LIMIT_ORDER_PROTOCOL_ADDRESS: contracts.limitOrderProtocol,
    MULTICALL_ADDRESS: contracts.multicall,
    NAVIGATOR_ADDRESS: contracts.navigator,
    QUOTE_SIGNER_KEY: `0x${'1'.repeat(64)}`,
    PARTITIONS: '8',
    TOPIC_REPLICATION_FACTOR: '1',
    CLIENT_REQUESTS_MAX: '1000000',
    CANCEL_REQUESTS_MAX: '1000000',
    LOG_LEVEL: 'warn',
  };
}

async function openMaker(
  rpcUrl: string,
  { tokens, limitOrderProtocol }: DeployedContracts,
  admit: (address: string) => Promise<void>,
): Promise<MakerKey> {
  const [maker] = createMakers(1);
  if (maker === undefined) throw new Error('there is no maker');
  await admit(maker.address);
  const chain = await driveChain(rpcUrl);
  try {
    const token = tokens[0]?.address as Address;
    await chain.giveGas(maker.address);
    await chain.send(maker.address, token, 'mint', maker.address, 10n ** 12n);
    const last = await chain.send(maker.address, token, 'approve', limitOrderProtocol, 10n ** 12n);
    await chain.mine();
    await chain.blockOf(last);
  } finally {
    chain.stop();
  }
  return maker;
}
