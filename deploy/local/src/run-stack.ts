import { join, resolve } from 'node:path';
import { closeAll } from '@makerbook/contracts-primitives';
import { findFreePort, isPortFree, PartError, stopLivingParts, takeLock } from '@makerbook/parts';
import { makeFolder } from '@makerbook/settings';
import { accountOf, type DeployedContracts, EXAMPLE_MAKER } from './deploy-contracts.js';
import { keepSigner } from './keep-signer.js';
import { provideContracts } from './provide-contracts.js';
import { rotateLogs } from './rotate-logs.js';
import { type Environment, LOOPBACK, serviceEnvironment } from './service-environment.js';
import { given, type StackSettings } from './stack-env.js';
import { type Addresses, namesOfOwnParts, startParts } from './start-parts.js';
import {
  admitMaker,
  awaitReadiness,
  divideRights,
  entryOf,
  prepareStores,
  type RunningService,
  startNode,
  startServices,
} from './start-services.js';
import type { Supervised, Supervision } from './supervise.js';
import {
  awaitLeftovers,
  type ProcessEntry,
  removeStackFiles,
  type StackFile,
  writeProcessesFile,
  writeStackFile,
} from './write-stack-files.js';

/** Defaults of `SHARED_SETTINGS`, and defaults that differ from production. */
const LOCAL_DEFAULTS = {
  PARTITIONS: '12',
  TOPIC_PREFIX: '',
  REDIS_KEY_PREFIX: 'mb:',
  TRUSTED_PROXY_HOPS: '1',
  // Nobody scrapes metrics here: a halted watcher ends at once, and its restart shows the reason.
  HALT_LINGER_MS: '0',
  CONSOLE: 'on',
  LOG_LEVEL: 'info',
  NODE_ENV: 'production',
};
/** Settings that commands beside the stack share with it. */
const SHARED_SETTINGS = ['PARTITIONS', 'TOPIC_PREFIX', 'REDIS_KEY_PREFIX', 'TOPIC_REPLICATION_FACTOR'] as const;

export type Stack = {
  /** The content of `stack.json`. */
  readonly addresses: StackFile;
};

/** Everything that `npm start` runs, from the parts to the gateway. It stops in the reverse order. */
export type StackRun = {
  /** Resolves when every service is ready. If something cannot start, stops the rest and rejects with PartError. */
  readonly ready: Promise<Stack>;
  /** Stops everything, even in the middle of the start. Can be repeated. */
  stop(): Promise<void>;
};

/**
 * Starts the whole stack on a data folder.
 * @param environment environment of the services, except for variables that the stack sets
 * @param report takes one line at a time for the terminal
 * @param own variables of single services, keyed by name, which override the others; for tests
 */
export function runStack(
  settings: StackSettings,
  environment: Environment,
  report: (line: string) => void,
  own: Readonly<Record<string, Environment>> = {},
): StackRun {
  const folder = resolve(settings.MAKERBOOK_DATA);
  const closing: (() => void | Promise<void>)[] = [];
  const stopped = new AbortController();
  let stopping: Promise<void> | undefined;
  /** Closes what was opened last first, then stops the parts that are still starting. */
  function* steps() {
    yield* closing.reverse();
    yield stopLivingParts;
  }
  const stop = () => {
    stopping ??= (async () => {
      stopped.abort();
      await closeAll(steps()).finally(() => {
        closing.length = 0;
      });
    })();
    return stopping;
  };
  const ready = start(settings, { environment, own, folder, report, signal: stopped.signal, closing });
  return {
    ready: ready.catch(async (error: unknown) => {
      await stop().catch(() => undefined);
      throw error;
    }),
    stop,
  };
}

type Start = {
  readonly environment: Environment;
  readonly own: Readonly<Record<string, Environment>>;
  readonly folder: string;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
  readonly closing: (() => void | Promise<void>)[];
};

async function start(
  settings: StackSettings,
  { environment, own, folder, report, signal, closing }: Start,
): Promise<Stack> {
  closing.push(lockFolder(folder).release);
  const { PORT: asked } = settings;
  if (asked !== 0 && (!(await isPortFree(asked, undefined)) || !(await isPortFree(asked, LOOPBACK)))) {
    throw new PartError('gateway', `port ${asked} is in use: stop what listens there, or choose another with PORT=…`);
  }
  await awaitLeftovers(folder);
  removeStackFiles(folder);
  const logs = join(folder, 'logs');
  closing.push(rotateLogs(logs, settings.LOG_BYTES_MAX));

  const replicas = { TOPIC_REPLICATION_FACTOR: String(settings.KAFKA_NODES) };
  const shared = { ...LOCAL_DEFAULTS, ...replicas, ...withoutEmpty(environment) };
  const running: Supervised[] = [];
  const stopInReverse = (part: Supervised) => {
    running.push(part);
    closing.push(() => part.stop());
    supervision.onStart();
  };
  const supervision: Supervision = {
    report: (line) => {
      if (!signal.aborted) report(line);
    },
    onStart: () =>
      writeProcessesFile(folder, {
        supervisorPid: process.pid,
        settings: Object.fromEntries(SHARED_SETTINGS.map((name) => [name, shared[name] ?? ''])),
        processes: running.map(describeProcess),
      }),
  };
  closing.push(() => removeStackFiles(folder));

  const parts = namesOfOwnParts(settings);
  if (parts.length > 0) report(`starting ${parts.join(', ')}`);
  const addresses = await startParts(settings, { data: folder, logs }, supervision, stopInReverse);
  signal.throwIfAborted();
  const quoteSigner = keepSigner(settings, 'QUOTE_SIGNER_KEY', folder);
  const receiptSigner = keepSigner(settings, 'RECEIPT_SIGNER_KEY', folder);
  const contracts = await provideContracts(settings, addresses.rpcUrl, quoteSigner.address);
  const env = serviceEnvironment(shared, settings, { addresses, contracts, quoteSigner, receiptSigner });
  const isOwnPostgres = given(settings.DATABASE_URL) === undefined;
  const rights: Readonly<Record<string, Environment>> = isOwnPostgres ? await divideRights(addresses.databaseUrl) : {};
  await prepareStores(env);
  signal.throwIfAborted();

  report('starting the services');
  const services: RunningService[] = [];
  const environmentOf = (name: string) => ({ ...env, ...rights[name.replace(/-\d+$/, '')], ...own[name] });
  await startServices(settings.CHAIN_WATCHERS, environmentOf, logs, supervision, (service) => {
    services.push(service);
    stopInReverse(service);
  });
  // The key of the example's maker is public: admit it on the stack's own chain alone.
  const isOwnChain = given(settings.RPC_URL) === undefined;
  const { DEPLOYER_KEY: key } = settings;
  const maker = isOwnChain ? EXAMPLE_MAKER : key === '' ? undefined : accountOf(key);
  const admission = maker === undefined ? undefined : admitMaker(maker, env, signal);
  await Promise.all([awaitReadiness(services, signal), admission]);
  signal.throwIfAborted();
  // Choose the ports this late: another stack could take them while the parts start.
  const [port, consolePort] = await choosePorts(asked);
  const gatewayEnv = {
    ...env,
    HOST: settings.HOST,
    PORT: String(port),
    CONSOLE_PORT: String(consolePort),
    MAKERBOOK_DATA: isOwnChain ? folder : '',
  };
  const gateway = await startGateway(port, services, logs, gatewayEnv, supervision);
  stopInReverse(gateway);
  await awaitReadiness([gateway], signal);
  signal.throwIfAborted();
  const stackFile = {
    ...describeStack(settings, port, addresses, contracts),
    consoleUrl: env['CONSOLE'] === 'on' ? `http://${LOOPBACK}:${consolePort}/console` : undefined,
  };
  writeStackFile(folder, stackFile);
  return { addresses: stackFile };
}

/** Chooses the port of the base URL, and for the console the next port if that is free. */
async function choosePorts(asked: number): Promise<readonly [port: number, consolePort: number]> {
  const isNextFree = asked !== 0 && asked < 65_535 && (await isPortFree(asked + 1, LOOPBACK));
  return [asked === 0 ? await findFreePort() : asked, isNextFree ? asked + 1 : await findFreePort()];
}

function lockFolder(folder: string): { release(): void } {
  try {
    makeFolder(folder);
    const lock = takeLock(join(folder, 'stack.lock'));
    if ('release' in lock) return lock;
    throw new PartError(
      'stack',
      `Makerbook runs on ${folder} already (process ${lock.heldBy}): stop it, or choose another folder with MAKERBOOK_DATA=…`,
    );
  } catch (error) {
    if (error instanceof PartError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new PartError(
      'stack',
      `the data folder ${folder} cannot be used (${reason}): choose another with MAKERBOOK_DATA=…`,
    );
  }
}

function startGateway(
  port: number,
  services: readonly RunningService[],
  logs: string,
  env: Environment,
  supervision: Supervision,
): Promise<RunningService> {
  const url = (servicePort: number | undefined) => `http://${LOOPBACK}:${servicePort}`;
  const portOf = (name: string) => services.find((service) => service.name === name)?.port;
  const gatewayEnv = {
    ...env,
    INGRESS_URL: url(portOf('ingress')),
    QUERY_URL: url(portOf('query')),
    FEED_URL: url(portOf('feed')),
    CONSOLE_URL: env['CONSOLE'] === 'on' ? url(services.find(({ consolePort }) => consolePort)?.consolePort) : '',
    OPS_URLS: services.map(({ name, opsPort }) => `${name}=${url(opsPort)}`).join(','),
  };
  const entry = entryOf('deploy/local', 'gateway.js');
  return startNode('gateway', entry, gatewayEnv, logs, supervision).then((part) => ({ ...part, port, opsPort: port }));
}

function describeProcess(part: Supervised & { readonly port?: number; readonly opsPort?: number }): ProcessEntry {
  const { pid, logFile } = part.current();
  return {
    name: part.name,
    pid,
    logFile,
    ...(part.port === undefined ? {} : { port: part.port }),
    ...(part.opsPort === undefined ? {} : { opsPort: part.opsPort }),
  };
}

function describeStack(
  settings: StackSettings,
  port: number,
  addresses: Addresses,
  contracts: DeployedContracts,
): StackFile {
  return {
    baseUrl: `http://${LOOPBACK}:${port}`,
    ...addresses,
    // Clients take one node: name the preferred one.
    rpcUrl: addresses.rpcUrl.split(',')[0] ?? addresses.rpcUrl,
    chainId: settings.CHAIN_ID,
    serviceName: settings.SERVICE_NAME,
    limitOrderProtocol: contracts.limitOrderProtocol,
    navigator: contracts.navigator,
    multicall: contracts.multicall,
    orderFiller: contracts.orderFiller,
    tokens: contracts.tokens,
    pools: contracts.pools,
    quoteSigners: contracts.quoteSigners,
  };
}

function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''));
}
