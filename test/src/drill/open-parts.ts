import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  findFreePort,
  type KafkaOptions,
  type PostgresOptions,
  planKafkaCluster,
  startAnvil,
  startKafka,
  startPostgres,
  startRedis,
} from '@makerbook/parts';
import { eventually } from '../kit/eventually.js';
import { type OpenStack, openStack, TEST_STACK_VARIABLE, UNBOUNDED } from '../kit/open-stack.js';

const CHAIN_ID = 8217;
export const BROKERS = 3;
/** Even a machine with much other work can answer this many. */
export const ROUNDS_PER_SECOND = 6;
const READY_MS_MAX = 180_000;

export type DrillParts = Awaited<ReturnType<typeof openParts>>;

export interface DrillOptions {
  /** How long the load runs before anything is done. */
  readonly loadMs: number;
  /** The root of another checkout, built. */
  readonly against: string | undefined;
  /** The seed of everything that is drawn. */
  readonly seed: number;
  /** True if Postgres is kept when Kafka is lost. */
  readonly keeps: boolean;
}

/** Opens parts that a drill can lose or renew, and stacks on them, one after another at one address. */
export async function openParts() {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-drill-'));
  // Root runs Postgres as another user, who needs to enter this folder.
  chmodSync(folder, 0o711);
  const closing: (() => Promise<unknown>)[] = [];
  const ports = { base: await findFreePort(), postgres: await findFreePort() };
  const dataOf = (name: string) => ({ dataDir: join(folder, name), logFile: join(folder, `${name}.log`) });
  const keep = <P extends { stop(): Promise<void> }>(part: P): P => {
    closing.push(() => part.stop());
    return part;
  };
  const start = {
    kafka: async (name: string) => keep(await startKafka({ ...dataOf(name), port: await findFreePort() })),
    postgres: async (name: string, more: Pick<PostgresOptions, 'settings' | 'files'> = {}) =>
      keep(await startPostgres({ ...dataOf(name), port: ports.postgres, ...more })),
    /** Starts brokers, of which any one may be lost. Each can be started again by its plan. */
    brokers: async (adapt: (plan: KafkaOptions) => KafkaOptions = (plan) => plan) => {
      const plans = (await planKafkaCluster((nodeId) => join(folder, `kafka-${nodeId}`), BROKERS)).map(adapt);
      const nodes = await Promise.all(plans.map(startKafka));
      closing.push(() => Promise.all(nodes.map((node) => node.stop())));
      return { plans, nodes, addresses: nodes.map(({ brokers }) => brokers) };
    },
  };
  const redis = keep(await startRedis({ ...dataOf('redis'), port: await findFreePort() }));
  const chain = { chainId: CHAIN_ID, blockTimeSeconds: 1 };
  const anvil = keep(await startAnvil({ ...dataOf('anvil'), port: await findFreePort(), ...chain }));
  let first: OpenStack | undefined;
  let stacks = 0;
  return {
    folder,
    start,
    redisUrl: redis.url,
    anvil,
    /** Called in reverse order at the end. */
    closing,
    /** Copies the data of a part that is stopped, with its owner. */
    copy: (from: string, to: string) => void execFileSync('cp', ['-a', join(folder, from), join(folder, to)]),
    /** Deletes a part's data for good. */
    lose: (name: string) => rmSync(join(folder, name), { recursive: true, force: true }),
    /**
     * Starts all services and waits until they are ready. The next stack has the same address and contracts, so makers
     * can continue with it.
     */
    async openStack(
      kafkaBrokers: string,
      databaseUrl: string,
      settings: Readonly<Record<string, string>> = {},
    ): Promise<OpenStack> {
      const { limitOrderProtocol, multicall, navigator } = first?.addresses ?? {};
      stacks += 1;
      const data = join(folder, `stack-${stacks}`);
      const stack = await startStack(data, {
        ...UNBOUNDED,
        PORT: String(ports.base),
        KAFKA_BROKERS: kafkaBrokers,
        DATABASE_URL: databaseUrl,
        REDIS_URL: redis.url,
        RPC_URL: anvil.rpcUrl,
        TOPIC_REPLICATION_FACTOR: '1',
        LOG_LEVEL: 'warn',
        ...(limitOrderProtocol !== undefined && { LIMIT_ORDER_PROTOCOL_ADDRESS: limitOrderProtocol }),
        ...(multicall !== undefined && { MULTICALL_ADDRESS: multicall }),
        ...(navigator !== undefined && { NAVIGATOR_ADDRESS: navigator }),
        ...settings,
      });
      closing.push(stack.stop);
      first ??= stack;
      return stack;
    },
    async stop(): Promise<void> {
      for (const close of closing.splice(0).reverse()) await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs `npm start` in its own process, so that it can be stopped while the parts keep running. */
async function startStack(data: string, environment: Readonly<Record<string, string>>): Promise<OpenStack> {
  const entry = fileURLToPath(import.meta.resolve('../../../deploy/local/dist/start-stack.js'));
  const env = { PATH: process.env['PATH'], ...environment, MAKERBOOK_DATA: data };
  const child = spawn(process.execPath, [entry], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  child.stdout.on('data', (text: Buffer) => lines.push(String(text)));
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  const isReady = async () => child.exitCode !== null || existsSync(join(data, 'stack.json'));
  await eventually(isReady, true, READY_MS_MAX);
  if (child.exitCode !== null) throw new Error(`the stack did not start: ${lines.join('')}`);
  process.env[TEST_STACK_VARIABLE] = data;
  return { ...(await openStack({ ownParts: false })), stop };
}
