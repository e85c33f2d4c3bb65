import { describe, expect, test } from '@jest/globals';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { apiSettings, limitSettings, opsSettings } from '@makerbook/settings';
import { fieldOf, type Manifest, parseManifests, readText } from './read-manifests.js';
import { isOurs, readPods } from './read-pods.js';
import { readKustomizations, readSources } from './read-sources.js';
import { describeOverlays } from './testing/describe-overlays.js';

const sources = readSources();
const ofKind = (kind: string): Manifest[] => sources.filter((manifest) => manifest.kind === kind);
const literals = readKustomizations().flatMap(({ configMapGenerator }) =>
  configMapGenerator.flatMap((map) => map.literals ?? []),
);
const [partitions = 0] = literals.flatMap((literal) => /^PARTITIONS=(\d+)$/.exec(literal)?.[1] ?? []).map(Number);
const names = topicNames();

interface Acl {
  readonly resource: { readonly type: string; readonly name: string; readonly patternType: string };
  readonly operations: readonly string[];
}

const aclsOf = (user: Manifest): readonly Acl[] => fieldOf<{ acls: Acl[] }>(user, 'authorization').acls;

test('nginx closes its connections to a leaving pod before the service in it ends', () => {
  const conf = readText('deploy/compose/gateway/makerbook.conf');
  const upstreams = /^upstream (\w+) {.* keepalive_time (\d+)s; keepalive_timeout (\d+)s; }$/gm;
  const held = [...conf.matchAll(upstreams)].map(
    ([, name, time, idle]) => [name, Number(time) + Number(idle)] as const,
  );
  expect(held.map(([name]) => name)).toEqual(['ingress', 'query', 'feed']);
  // For about two seconds nginx may still open connections to a pod that leaves.
  const [routedSeconds, seconds] = [2, 8];
  for (const [name, heldSeconds] of held) {
    expect(routedSeconds + heldSeconds).toBeLessThanOrEqual(seconds);
    const [container] = readPods(sources).find(({ owner }) => owner === `Deployment ${name}`)?.spec.containers ?? [];
    expect(container).toMatchObject({ lifecycle: { preStop: { sleep: { seconds } } } });
  }
});

describe('Kafka', () => {
  test('has the topics of the code, with their partitions and settings', () => {
    const made = ofKind('KafkaTopic').map(({ metadata, spec }) => ({ name: metadata.name, ...spec }));
    const wanted = topicSpecs(names, partitions).map(({ name, config }) => ({
      name,
      partitions,
      replicas: 3,
      config: { ...config, 'min.insync.replicas': '2' },
    }));
    expect(made).toEqual(expect.arrayContaining(wanted));
    expect(made).toHaveLength(wanted.length);
  });

  test('gives users rights only to topics, groups and transactions that exist', () => {
    const acls = ofKind('KafkaUser').flatMap(aclsOf);
    const clients = ['ingress-', 'makerbook-chain-watcher', 'makerbook-projector-', 'makerbook-operator-'];
    const known: Record<string, readonly string[]> = {
      topic: Object.values(names),
      group: ['makerbook-projector', 'router'],
      transactionalId: clients,
    };
    for (const { resource } of acls.filter(({ resource }) => resource.type !== 'cluster'))
      expect(known[resource.type]).toContain(resource.name);
    expect(readText('services/projector/src/run.ts')).toContain('makerbook-projector`');
    expect(readText('services/chain-watcher/src/run.ts')).toContain('}makerbook-chain-watcher`');
    for (const service of ['ingress', 'projector', 'operator']) {
      const file = service === 'operator' ? 'main' : 'run';
      const [, id] = /clientId: '([^']+)'/.exec(readText(`services/${service}/src/${file}.ts`)) ?? [];
      expect(clients).toContain(`${id}-`);
    }
  });

  test('only users that state facts may write the log, and only the projector may write the book', () => {
    const writers = (topic: string) =>
      ofKind('KafkaUser')
        .filter((user) =>
          aclsOf(user).some(({ resource, operations }) => resource.name === topic && operations.includes('Write')),
        )
        .map(({ metadata }) => metadata.name)
        .sort();
    expect(writers(names.makerEvents)).toEqual(['kafka-ingress', 'kafka-chain-watcher', 'kafka-operator'].sort());
    expect(writers(names.book)).toEqual(['kafka-projector']);
    expect(writers(names.fills)).toEqual(['kafka-projector']);
    expect(writers(names.makers)).toEqual(['kafka-projector']);
    expect(writers(names.acks)).toEqual(['kafka-router']);
    expect(writers(names.parked)).toEqual(['kafka-projector', 'kafka-operator'].sort());
  });

  // To its user, a topic that it may not describe does not exist. The service then does not start.
  test.each([
    ['ingress', [names.makers, names.makerEvents, names.acks]],
    ['query', [names.makers, names.makerEvents]],
    ['feed', [names.book, names.fills]],
    ['chain-watcher', [names.makerEvents, names.book]],
    ['projector', [names.makerEvents, names.book, names.fills, names.makers, names.parked]],
    ['operator', Object.values(names)],
    ['reader', Object.values(names)],
  ])('%s may describe every topic that it verifies', (service, verified) => {
    const user = ofKind('KafkaUser').find(({ metadata }) => metadata.name === `kafka-${service}`);
    if (user === undefined) throw new Error(`there is no user kafka-${service}`);
    const described = aclsOf(user).filter(({ operations }) =>
      ['Describe', 'DescribeConfigs'].every((operation) => operations.includes(operation)),
    );
    const topics = described.filter(({ resource }) => resource.type === 'topic').map(({ resource }) => resource.name);
    expect(topics).toEqual(expect.arrayContaining(verified));
  });

  test('the projector is scaled by the lag of its own group', () => {
    const [scaled] = ofKind('ScaledObject');
    const [trigger] = fieldOf<{ metadata: Record<string, string> }[]>(scaled, 'triggers');
    expect(trigger?.metadata).toMatchObject({ topic: names.makerEvents, consumerGroup: 'makerbook-projector' });
    expect(fieldOf<number>(scaled, 'maxReplicaCount')).toBeLessThanOrEqual(partitions);
  });
});

test.each(['projector', 'reader', 'operator'])(
  'kafka-%s, which is used to fold the log, may read it and the feeds',
  (user) => {
    const acls = ofKind('KafkaUser')
      .filter(({ metadata }) => metadata.name === `kafka-${user}`)
      .flatMap(aclsOf);
    const read = acls.filter(({ operations }) => operations.includes('Read')).map(({ resource }) => resource.name);
    expect(read).toEqual(expect.arrayContaining([names.makerEvents, names.book, names.fills, names.makers]));
  },
);

test('kafka-reader, which the archive and a replay use, cannot write', () => {
  const reader = ofKind('KafkaUser').find(({ metadata }) => metadata.name === 'kafka-reader');
  if (reader === undefined) throw new Error('there is no user kafka-reader');
  const operations = aclsOf(reader).flatMap((acl) => acl.operations);
  expect(new Set(operations)).toEqual(new Set(['Read', 'Describe', 'DescribeConfigs']));
  expect(aclsOf(reader).map(({ resource }) => resource.type)).toEqual([
    ...Object.values(names).map(() => 'topic'),
    'cluster',
  ]);
});

test('Postgres is backed up each day by snapshots that need no archive of the WAL', () => {
  const [cluster] = ofKind('Cluster');
  const [backup] = ofKind('ScheduledBackup');
  expect(backup?.spec).toMatchObject({ cluster: { name: cluster?.metadata.name }, method: 'volumeSnapshot' });
  expect(fieldOf<string>(backup, 'schedule')).toMatch(/^0 \d+ \d+ \* \* \*$/);
  expect(fieldOf(cluster, 'backup')).toMatchObject({ target: 'prefer-standby', volumeSnapshot: { online: false } });
});

test('the HTTPRoute routes as deploy/routes.json says', () => {
  const { routes } = JSON.parse(readText('deploy/routes.json')) as {
    routes: { methods?: string[]; path: string; match: 'exact' | 'prefix'; service: string }[];
  };
  const wanted = routes.flatMap(({ methods = [undefined], path, match, service }) =>
    methods.map((method) => ({ method, path, match, service })),
  );
  type Rule = {
    matches: { method?: string; path: { type: string; value: string } }[];
    backendRefs: { name: string; port: number }[];
  };
  const rules = ofKind('HTTPRoute').flatMap((route) => fieldOf<Rule[]>(route, 'rules'));
  const made = rules.flatMap(({ matches, backendRefs }) =>
    matches.map(({ method, path }) => ({
      method,
      path: path.value,
      match: path.type === 'Exact' ? 'exact' : 'prefix',
      service: backendRefs[0]?.name,
    })),
  );
  expect(made).toEqual(wanted);
  for (const { backendRefs } of rules) expect(String(backendRefs[0]?.port)).toBe(apiSettings.PORT.fallback);
});

test('Envoy Gateway passes on whole requests only, within limits of size and time', () => {
  const targets = (kind: string, name = 'makerbook') => [{ group: 'gateway.networking.k8s.io', kind, name }];
  const size = `${Number(limitSettings.BODY_BYTES_MAX.fallback) / 1024}Ki`;
  const idle = '60s';
  const tcp = { connectTimeout: '1s' };
  const retry = { numRetries: 1, retryOn: { triggers: ['connect-failure'] } };
  // More than the streams of one process of query or feed.
  const most = 16_384;
  const circuitBreaker = { maxConnections: most, maxPendingRequests: most, maxParallelRequests: most };
  const [, idleMsMax] = /IDLE_MS_MAX = ([\d_]+)/.exec(readText('shared/http/src/open-server.ts')) ?? [];
  expect(Number.parseInt(idle, 10) * 1000).toBeLessThan(Number(idleMsMax?.replaceAll('_', '')));
  expect(ofKind('ClientTrafficPolicy').map(({ spec }) => spec)).toEqual([
    {
      targetRefs: targets('Gateway'),
      timeout: { http: { requestReceivedTimeout: '10s', idleTimeout: idle } },
      connection: { bufferLimit: size },
      path: { escapedSlashesAction: 'RejectRequest' },
    },
  ]);
  expect(ofKind('BackendTrafficPolicy').map(({ spec }) => spec)).toEqual([
    {
      targetRefs: targets('HTTPRoute'),
      requestBuffer: { limit: size },
      timeout: { tcp, http: { requestTimeout: '30s', connectionIdleTimeout: idle } },
      circuitBreaker,
      retry,
    },
    {
      targetRefs: targets('HTTPRoute', 'book'),
      timeout: { tcp, http: { connectionIdleTimeout: idle } },
      circuitBreaker,
      retry,
    },
  ]);
});

test('Envoy has two pods, on different machines and in different zones, and a drain leaves one', () => {
  const [gateway] = ofKind('Gateway');
  const [proxy, ...others] = ofKind('EnvoyProxy');
  const name = proxy?.metadata.name;
  expect(others).toEqual([]);
  expect(fieldOf(gateway, 'infrastructure')).toEqual({
    parametersRef: { group: 'gateway.envoyproxy.io', kind: 'EnvoyProxy', name },
  });
  const spread = (topologyKey: string) => ({
    topologyKey,
    maxSkew: 1,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: { 'gateway.envoyproxy.io/owning-gateway-name': gateway?.metadata.name } },
    matchLabelKeys: ['pod-template-hash'],
  });
  const topologySpreadConstraints = [spread('kubernetes.io/hostname'), spread('topology.kubernetes.io/zone')];
  const envoyDeployment = { replicas: 2, pod: { topologySpreadConstraints } };
  expect(proxy?.spec).toEqual({
    provider: { type: 'Kubernetes', kubernetes: { envoyDeployment, envoyPDB: { minAvailable: 1 } } },
  });
});

describeOverlays((manifests, overlay) => {
  test('policies let in only the namespaces of namespaces.yaml', () => {
    const folder = overlay === 'small' ? 'small' : 'production';
    const [map] = parseManifests(readText(`deploy/k8s/overlays/${folder}/namespaces.yaml`));
    const named = JSON.stringify(manifests).matchAll(/"kubernetes\.io\/metadata\.name":"([^"]+)"/g);
    const names = new Set([...named].map(([, name]) => name).filter((name) => name !== 'kube-system'));
    expect([...names].sort()).toEqual(Object.values(map?.data ?? {}).sort());
  });

  test('only the gateway reaches ingress, query and feed', () => {
    const policy = manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'api');
    const [rule] = fieldOf<{ from: unknown[] }[]>(policy, 'ingress');
    expect(rule?.from).toEqual([
      overlay === 'small'
        ? { podSelector: { matchLabels: { 'app.kubernetes.io/name': 'gateway' } } }
        : { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'envoy-gateway-system' } } },
    ]);
    const kinds = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const byGatewayApi = ['HTTPRoute makerbook', 'HTTPRoute book', 'Gateway makerbook'];
    const gateway = ['Deployment gateway', ...byGatewayApi].filter((one) => kinds.includes(one));
    expect(gateway).toEqual(overlay === 'small' ? ['Deployment gateway'] : byGatewayApi);
    const out = manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'gateway');
    if (out !== undefined) {
      const [egress] = fieldOf<{ to: { podSelector: object }[] }[]>(out, 'egress');
      expect(egress?.to[0]?.podSelector).toEqual(fieldOf(policy, 'podSelector'));
    }
  });

  test('Kafka is reached only with a certificate, and from outside only if an overlay asks for it', () => {
    const kafka = manifests.find(({ kind }) => kind === 'Kafka');
    if (overlay === 'small') return expect(kafka).toBeUndefined();
    const { listeners } = fieldOf<{ listeners: Record<string, unknown>[] }>(kafka, 'kafka');
    for (const listener of listeners) expect(listener).toMatchObject({ tls: true, authentication: { type: 'tls' } });
    const outside = listeners.filter(({ type }) => type !== 'internal').map(({ name, port }) => `${name} ${port}`);
    expect(outside).toEqual(overlay === 'router-outside' ? ['external 9094'] : []);
    expect(kinds(manifests, 'KafkaUser')).toContain('kafka-router');
  });

  test('has the ports of the code', () => {
    for (const { service, spec } of readPods(manifests).filter(isOurs)) {
      if (service === 'operator') continue;
      const ports = Object.fromEntries(
        (spec.containers[0]?.ports ?? []).map((port) => [port.name, port.containerPort]),
      );
      const api = ['ingress', 'query', 'feed'].includes(service) ? { http: Number(apiSettings.PORT.fallback) } : {};
      expect({ service, ports }).toEqual({ service, ports: { ops: Number(opsSettings.OPS_PORT.fallback), ...api } });
    }
  });
});

const kinds = (manifests: readonly Manifest[], wanted: string): string[] =>
  manifests.filter(({ kind }) => kind === wanted).map(({ metadata }) => metadata.name);
