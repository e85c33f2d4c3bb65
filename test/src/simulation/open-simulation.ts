import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkTraffic } from '@makerbook/contracts-http/testing';
import { deployContracts } from '@makerbook/local-stack';
import { testParts } from '@makerbook/parts';
import { connectPostgres, type Postgres } from '@makerbook/postgres';
import { runServices, type Services } from '../kit/run-services.js';
import { type Chain, openChain } from './drive-chain.js';
import { type Feed, followFeed } from './follow-feed.js';

/** A Makerbook of its own on shared Kafka, Postgres and Redis, with a chain that makes blocks on request. */
export interface Simulation {
  readonly chain: Chain;
  readonly services: Services;
  readonly postgres: Postgres;
  readonly partitions: number;
  readonly kafkaBrokers: string;
  readonly serviceName: string;
  /** Of the LimitOrderProtocol. */
  readonly protocol: string;
  readonly feed: Feed;
  /** Puts makers on the whitelist with the operator's command. */
  admit(makers: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const PARTITIONS = 8;
const SERVICE_NAME = 'Simulated';
const run = promisify(execFile);
const operator = fileURLToPath(new URL('../../../services/operator/dist/main.js', import.meta.url));

/** @throws Error where a service does not become ready */
export async function openSimulation(): Promise<Simulation> {
  const parts = testParts();
  const name = `simulation-${randomBytes(4).toString('hex')}`;
  const folder = mkdtempSync(join(tmpdir(), `makerbook-${name}-`));
  let services: Services | undefined;
  const endTraffic = checkTraffic(
    ({ origin }) => services?.running().some((one) => services?.url(one) === origin) ?? false,
  );
  // Run from the last to the first.
  const closing: (() => unknown)[] = [endTraffic, () => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    let contracts = { limitOrderProtocol: '', multicall: '', navigator: '' };
    const chain = await openChain(async (rpcUrl) => {
      contracts = await deployContracts({ rpcUrl, serviceName: SERVICE_NAME, quoteSigners: [] });
    });
    closing.push(chain.stop);
    const databaseUrl = await parts.databaseUrl();
    const environment = {
      KAFKA_BROKERS: parts.kafkaBrokers,
      DATABASE_URL: databaseUrl,
      REDIS_URL: parts.redisUrl,
      RPC_URL: chain.rpcUrl,
      CHAIN_ID: '8217',
      SERVICE_NAME,
      LIMIT_ORDER_PROTOCOL_ADDRESS: contracts.limitOrderProtocol,
      MULTICALL_ADDRESS: contracts.multicall,
      PARTITIONS: String(PARTITIONS),
      TOPIC_PREFIX: `${name}.`,
      TOPIC_REPLICATION_FACTOR: '1',
      REDIS_KEY_PREFIX: `${name}:`,
      LOG_LEVEL: 'info',
      ORDER_BUDGET_BURST: '100000',
      ORDER_BUDGET_PER_SECOND: '10000',
      LIST_BUDGET_BURST: '100000',
      CLIENT_REQUESTS_MAX: '1000000',
      POLL_INTERVAL_MS: '20',
      HALT_LINGER_MS: '0',
      SWEEP_PAIRS_PER_SECOND: '2000',
      TAKEOVER_MS: '500',
      // Blocks come faster than their timestamps grow.
      BLOCK_AHEAD_SECONDS_MAX: '1000000',
    };
    const order = async (...words: string[]) => {
      const env = { PATH: process.env['PATH'], ...environment, LOG_LEVEL: 'error' };
      await run(process.execPath, [operator, ...words], { env });
    };
    await order('migrate');
    await order('topics');
    services = runServices(folder, environment);
    closing.push(services.stop);
    for (const service of ['projector', 'query', 'ingress', 'chain-watcher']) await services.start(service, service);
    await services.ready();

    const postgres = connectPostgres({ url: databaseUrl, applicationName: 'simulation', onConnectionLost() {} });
    closing.push(postgres.close);
    const feed = followFeed(parts.kafkaBrokers, environment.TOPIC_PREFIX, PARTITIONS);
    closing.push(feed.close);
    return {
      chain,
      services,
      postgres,
      partitions: PARTITIONS,
      kafkaBrokers: parts.kafkaBrokers,
      serviceName: SERVICE_NAME,
      protocol: contracts.limitOrderProtocol,
      feed,
      admit: (makers) => order('makers', 'add', ...makers),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
