import { expect, test } from '@jest/globals';
import { loadSettings } from './load-settings.js';
import { fieldOf, type Manifest } from './read-manifests.js';
import { isOurs, type Pod, readEnvironmentOf, readPods } from './read-pods.js';
import { describeOverlays } from './testing/describe-overlays.js';

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

interface Rule {
  readonly from?: readonly { readonly podSelector?: Selector }[];
  readonly to?: readonly object[];
  readonly ports: readonly { readonly port: number }[];
}

/** The settings that name the server at a port, keyed by the ports that policies let our pods reach. */
const settingsOf: Readonly<Record<number, string>> = {
  9092: 'KAFKA_BROKERS',
  9093: 'KAFKA_BROKERS',
  5432: 'DATABASE_URL',
  6379: 'REDIS_URL or TLS_SERVERS',
  443: 'RPC_URL',
  8551: 'RPC_URL',
  9090: 'PROCESSES',
};

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Readonly<Record<string, string>>) {
  const isIn = (values: readonly string[], key: string) => values.includes(labels[key] ?? '');
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => isIn(values, key) === (operator === 'In'))
  );
}

describeOverlays((manifests, overlay) => {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  const rulesFor = (labels: Readonly<Record<string, string>>, way: 'ingress' | 'egress') =>
    policies
      .filter((policy) => selects(fieldOf<Selector>(policy, 'podSelector'), labels))
      .flatMap(({ spec }) => (spec?.[way] ?? []) as readonly Rule[]);
  const portsOf = (rules: readonly Rule[]) => rules.flatMap(({ ports }) => ports.map(({ port }) => port));

  test.each(readPods(manifests).filter(isOurs))('$owner may reach only what its settings name', async (pod) => {
    const reached = portsOf(rulesFor(pod.labels, 'egress')).filter((port) => port !== 53);
    expect([...new Set(reached.map((port) => settingsOf[port]))].sort()).toEqual(await givenTo(pod, manifests));
  });

  test('the doctor asks each process that has an ops port', () => {
    const ofOps = manifests.filter(({ kind, spec }) => kind === 'Service' && JSON.stringify(spec).includes('"ops"'));
    const doctor = readPods(manifests).find(({ labels }) => labels['app.kubernetes.io/component'] === 'doctor');
    const [{ value = '' } = {}] = doctor?.spec.containers[0]?.env?.filter(({ name }) => name === 'PROCESSES') ?? [];
    const wanted = ofOps.map(({ metadata: { name } }) => `${name}=http://${name}:9090`);
    expect(value.split(',').sort()).toEqual(wanted.sort());
  });

  test('pods may ask the DNS cache on their node', () => {
    const names = policies.find(({ metadata }) => metadata.name === 'names');
    const [{ to } = {}] = fieldOf<Rule[]>(names, 'egress');
    expect(to).toContainEqual({ ipBlock: { cidr: '169.254.20.10/32' } });
  });

  // A primary that cannot reach the Kubernetes API asks the other instances whether it is isolated. It ends if they do
  // not answer.
  test('instances of Postgres reach each other at the ports of Postgres and of their managers', () => {
    if (overlay === 'small') return;
    const instance = { 'cnpg.io/cluster': 'postgres' };
    const isOfInstances = ({ podSelector }: { podSelector?: Selector }) =>
      podSelector && selects(podSelector, instance);
    const lets = rulesFor(instance, 'ingress').filter(({ from = [] }) => from.some(isOfInstances));
    const reaches = rulesFor(instance, 'egress').filter(({ to = [] }) => to.some(isOfInstances));
    for (const rules of [lets, reaches]) expect(portsOf(rules)).toEqual(expect.arrayContaining([5432, 8000]));
  });

  test('Postgres lets in exactly the pods that may reach it', () => {
    if (overlay === 'small') return;
    const froms = rulesFor({ 'cnpg.io/cluster': 'postgres' }, 'ingress').flatMap(({ from = [] }) => from);
    for (const { owner, labels } of readPods(manifests)) {
      const reaches = portsOf(rulesFor(labels, 'egress')).includes(5432);
      const isLetIn = froms.some(({ podSelector }) => podSelector !== undefined && selects(podSelector, labels));
      expect([owner, isLetIn]).toEqual([owner, reaches]);
    }
  });
});

/** Returns the settings of outside systems that a process reads and is given. */
async function givenTo({ service, spec }: Pod, manifests: readonly Manifest[]): Promise<string[]> {
  const [container] = spec.containers;
  if (container === undefined) return [];
  const read = await loadSettings(service, container.args?.[0]);
  const given = readEnvironmentOf(container, manifests);
  const isGiven = (name: string) => name in read && (name in given || `${name}_FILE` in given);
  return [...new Set(Object.values(settingsOf))].filter((names) => names.split(' or ').some(isGiven)).sort();
}
