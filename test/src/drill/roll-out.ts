import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  readGatewayEnvironment,
  readRoutes,
  runGateway,
  writeProcessesFile,
  writeStackFile,
} from '@makerbook/local-stack';
import { findFreePort } from '@makerbook/parts';
import { describeParts } from '../containers/open-parts.js';
import { runOperator } from '../kit/admit-maker.js';
import { openStack, TEST_STACK_VARIABLE, UNBOUNDED } from '../kit/open-stack.js';
import { putOrdersOn } from '../kit/put-orders-on.js';
import { runServices } from '../kit/run-services.js';
import { type DrillOptions, type DrillParts, ROUNDS_PER_SECOND } from './open-parts.js';
import { tellSilence } from './tell-silence.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** The order of the runbook: services that read the log first, and those that write to it last. */
const SERVICES = ['projector', 'chain-watcher', 'feed', 'query', 'ingress'] as const;
const REPLICAS = 2;
/** An owner's partitions get another owner within 3 s, and the next block comes within another second. */
const FEED_MS_MAX = 4_000;
const shared = { TOPIC_REPLICATION_FACTOR: '1', PARTITIONS: '12', TOPIC_PREFIX: '', REDIS_KEY_PREFIX: 'mb:' };

/** Replaces each process of the other build by one of this build, on the schema of this build. */
export function upgrade(parts: DrillParts, { loadMs, against = ROOT }: DrillOptions): Promise<string[]> {
  return rollOut(parts, loadMs, { from: against, to: ROOT, services: SERVICES });
}

/** Replaces each process of this build by one of the other build, on the schema of this build. */
export function rollBack(parts: DrillParts, { loadMs, against = ROOT }: DrillOptions): Promise<string[]> {
  return rollOut(parts, loadMs, { from: ROOT, to: against, services: [...SERVICES].reverse() });
}

interface Plan {
  /** Root of the checkout that runs before, and of the one that runs after. */
  readonly from: string;
  readonly to: string;
  readonly services: readonly Service[];
}
type Service = (typeof SERVICES)[number];

async function rollOut(parts: DrillParts, loadMs: number, { from, to, services }: Plan): Promise<string[]> {
  console.log(from === to ? 'the same build before and after' : `before: ${from}; after: ${to}`);
  const { folder } = parts;
  const [kafka, postgres] = [await parts.start.kafka('kafka'), await parts.start.postgres('postgres')];
  const own = { kafkaBrokers: kafka.brokers, databaseUrl: postgres.url, redisUrl: parts.redisUrl };
  const { addresses, environment } = await describeParts(own, parts.anvil);
  const settings = { ...environment, ...shared, ...UNBOUNDED, TRUSTED_PROXY_HOPS: '1', LOG_LEVEL: 'warn' };
  for (const command of ['migrate', 'topics']) await runOperator([command], settings, from);
  const fleet = openFleet(folder, settings);
  parts.closing.push(fleet.stop);
  for (const service of services) for (let n = 0; n < REPLICAS; n += 1) await fleet.start(service, from);
  const gateway = await startGateway(fleet.urlOf);
  parts.closing.push(gateway.stop);
  writeStackFile(folder, { baseUrl: `http://127.0.0.1:${gateway.port}`, ...addresses });
  writeProcessesFile(folder, { supervisorPid: process.pid, settings: shared, processes: [] });
  process.env[TEST_STACK_VARIABLE] = folder;
  const load = await putOrdersOn(await openStack({ ownParts: false }), ROUNDS_PER_SECOND);
  parts.closing.push(load.close);
  await pause(loadMs);

  for (const command of ['migrate', 'topics']) await runOperator([command], settings, ROOT);
  for (const service of services) {
    const [startMs, before] = [performance.now(), load.failures.length];
    for (const old of fleet.running(service)) await replace(fleet, service, old, to);
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    console.log(`${service}: ${seconds} s, ${load.failures.length - before} requests failed`);
  }
  await pause(loadMs);
  const late = tellSilence(load, { requests: Number.POSITIVE_INFINITY, feed: FEED_MS_MAX });
  return [...load.failures, ...(await load.judge()), ...late];
}

/**
 * Replaces a process as its Deployment would: starts the new one before the old one ends, or after that for a
 * projector.
 */
async function replace(fleet: Fleet, service: Service, old: string, to: string): Promise<void> {
  const isSurging = service !== 'projector';
  if (isSurging) await fleet.start(service, to);
  await fleet.end(service, old);
  if (!isSurging) await fleet.start(service, to);
}

type Fleet = ReturnType<typeof openFleet>;

/** Some processes of each service. */
function openFleet(folder: string, settings: Readonly<Record<string, string>>) {
  const processes = runServices(folder, settings);
  const running = new Map<Service, string[]>(SERVICES.map((service) => [service, []]));
  let [started, asked] = [0, 0];
  return {
    running: (service: Service): readonly string[] => [...(running.get(service) ?? [])],
    /** Each call gives the URL of the next process in turn. */
    urlOf(service: Service): string {
      const names = running.get(service) ?? [];
      asked += 1;
      return `http://127.0.0.1:${processes.processOf(names[asked % names.length] ?? '').port}`;
    },
    /** Starts one more process, which gets requests once it is ready. */
    async start(service: Service, checkout: string): Promise<void> {
      started += 1;
      const name = `${service}-${started}`;
      await processes.start(name, service, {}, checkout);
      await processes.ready();
      running.get(service)?.push(name);
    },
    /** Gives the process no new requests, and lets it finish those it has. */
    async end(service: Service, name: string): Promise<void> {
      running.set(
        service,
        this.running(service).filter((other) => other !== name),
      );
      await processes.end(name);
    },
    stop: processes.stop,
  };
}

async function startGateway(urlOf: Fleet['urlOf']) {
  const given = { PORT: String(await findFreePort()), GATEWAY_REQUESTS_MAX: '10000000' };
  const settings = readGatewayEnvironment({ ...given, INGRESS_URL: 'x', QUERY_URL: 'x', FEED_URL: 'x' });
  const routed = {
    ...settings,
    get INGRESS_URL() {
      return urlOf('ingress');
    },
    get QUERY_URL() {
      return urlOf('query');
    },
    get FEED_URL() {
      return urlOf('feed');
    },
  };
  return runGateway(routed, readRoutes(), console.error);
}
