import { expect, test } from '@jest/globals';
import { NO_LARGE_OBJECTS, rights, roleOf } from '@makerbook/postgres';
import { loadSettings } from './load-settings.js';
import { fieldOf, readText } from './read-manifests.js';
import { readSources } from './read-sources.js';

const sources = readSources();
const find = (kind: string, name: string) =>
  sources.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
const services = ['ingress', 'query', 'chain-watcher', 'projector'];
/** Connections that Postgres reserves for superusers, and those of the owner's Jobs, the operator and people. */
const OTHERS = 3 + 20;

/** Pods that end at once. Each keeps its connections for the 8 s of `preStop` and its drain, beside its successor. */
const ENDING = 2;

/** Returns the connections of one process. A projector uses one more to hold its claims. */
async function connectionsOf(service: string): Promise<number> {
  const settings = await loadSettings(service);
  const pool = settings['POSTGRES_CONNECTIONS_MAX'] ?? settings['POSTGRES_POOL_MAX'];
  return Number(pool?.fallback ?? 1) + (service === 'projector' ? 1 : 0);
}

/** Counts the processes that may run at once, including those that start and end in a release. */
function processesOf(service: string): number {
  const deployment = find('Deployment', service);
  const scaler = find('HorizontalPodAutoscaler', service) ?? find('ScaledObject', service);
  const most = scaler?.spec?.['maxReplicas'] ?? scaler?.spec?.['maxReplicaCount'] ?? deployment?.spec?.['replicas'];
  const { rollingUpdate } = fieldOf<{ rollingUpdate: { maxSurge: number } }>(deployment, 'strategy');
  return Number(most) + rollingUpdate.maxSurge + ENDING;
}

interface Role {
  readonly name: string;
  readonly connectionLimit: number;
  readonly [attribute: string]: unknown;
}

test('each role of Postgres has enough connections for its processes, and Postgres has enough for all', async () => {
  const cluster = find('Cluster', 'postgres');
  const { roles } = fieldOf<{ roles: Role[] }>(cluster, 'managed');
  expect(roles.map(({ name }) => name).sort()).toEqual(Object.keys(rights).sort());
  for (const service of services) {
    const limit = roles.find(({ name }) => name === roleOf(service))?.connectionLimit;
    expect([service, limit]).not.toEqual([service, undefined]);
    expect(limit).toBeGreaterThanOrEqual(processesOf(service) * (await connectionsOf(service)));
  }
  const { parameters } = fieldOf<{ parameters: Record<string, string> }>(cluster, 'postgresql');
  const sum = roles.reduce((total, { connectionLimit }) => total + connectionLimit, 0);
  expect(sum + OTHERS).toBeLessThanOrEqual(Number(parameters['max_connections']));
});

test('no role of Postgres has the rights of a superuser, and none may make large objects', () => {
  const cluster = find('Cluster', 'postgres');
  for (const role of fieldOf<{ roles: Role[] }>(cluster, 'managed').roles)
    expect(Object.keys(role).sort()).toEqual(['connectionLimit', 'login', 'name', 'passwordSecret']);
  const { initdb } = fieldOf<{ initdb: object }>(cluster, 'bootstrap');
  expect(initdb).toMatchObject({ postInitApplicationSQL: [NO_LARGE_OBJECTS] });
});

test('in Compose each role has the connections of two processes, and Postgres has enough by default', async () => {
  const roles = readText('deploy/compose/roles.sql');
  let sum = OTHERS;
  for (const service of services) {
    const [, limit] = new RegExp(`alter role ${roleOf(service)} connection limit (\\d+) `).exec(roles) ?? [];
    expect([service, limit]).toEqual([service, String(2 * (await connectionsOf(service)))]);
    sum += Number(limit);
  }
  expect(sum).toBeLessThanOrEqual(100);
});

// A primary that ends in order waits this long for its sessions, and refuses new ones. Our pools keep their sessions.
test('a planned end of the primary waits at most ten seconds for open sessions', () => {
  expect(fieldOf<number>(find('Cluster', 'postgres'), 'smartShutdownTimeout')).toBeLessThanOrEqual(10);
});
