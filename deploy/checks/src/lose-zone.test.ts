import { describe, expect, test } from '@jest/globals';
import { fieldOf, findRenderer, type Manifest, nameOf, readText, renderOverlay } from './read-manifests.js';

interface Constraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
}

/** A part of the production overlay: its replicas, and how many of them it needs to work. */
interface Part {
  readonly name: string;
  readonly replicas: number;
  readonly needed: number;
  readonly spread: readonly Constraint[];
}

const describeOverlay = findRenderer() === undefined ? describe.skip : describe;

describeOverlay('when production loses a zone', () => {
  const manifests = findRenderer() === undefined ? [] : renderOverlay('production');
  const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
  const find = (kind: string, name: string) => ofKind(kind).find(({ metadata }) => metadata.name === name);
  // Leave out single pods: they start again elsewhere. Until then the log keeps what the archive lacks.
  const isSingle = ({ spec }: Manifest) => (spec?.['strategy'] as { type?: string } | undefined)?.type === 'Recreate';
  const services = ofKind('Deployment')
    .filter((deployment) => !isSingle(deployment))
    .map((deployment) => serviceOf(deployment, manifests));
  const parts = [...services, ...kafkaParts(), postgresPart(), envoyPart()];

  test('the runbook says what is left of each part, and whether that is enough', () => {
    const rows = parts.map(({ name, replicas, needed }) => {
      const left = [3, 2].map((zones) => replicas - Math.ceil(replicas / zones));
      const words = left.map((count) => (count >= needed ? `${count}` : `**${count}: stopped**`));
      return `| ${name} | ${replicas} | ${needed} | ${words.join(' | ')} |`;
    });
    expect(readText('deploy/runbooks/operations.md')).toContain(`${rows.join('\n')}\n`);
  });

  test('every part still works after the loss of one of three zones', () => {
    for (const { name, replicas, needed } of parts)
      expect([name, replicas - Math.ceil(replicas / 3) >= needed]).toEqual([name, true]);
  });

  test.each(parts)('$name is spread over machines and zones', ({ spread }) => {
    const keys = spread.map(({ topologyKey, maxSkew }) => `${topologyKey} ${maxSkew}`);
    expect(keys.sort()).toEqual(['kubernetes.io/hostname 1', 'topology.kubernetes.io/zone 1']);
  });

  test.each(services)('a drain of machines takes one replica of $name at a time', ({ name, replicas, needed }) => {
    const budget = find('PodDisruptionBudget', name);
    expect(budget?.spec).toMatchObject({
      maxUnavailable: 1,
      selector: { matchLabels: { 'app.kubernetes.io/name': name } },
    });
    expect(replicas - 1).toBeGreaterThanOrEqual(needed);
  });

  function kafkaParts(): Part[] {
    const { config, template } = fieldOf<{
      config: Record<string, number>;
      template: { pod: { topologySpreadConstraints: Constraint[] } };
    }>(find('Kafka', 'kafka'), 'kafka');
    return ofKind('KafkaNodePool').map((pool) => {
      const replicas = fieldOf<number>(pool, 'replicas');
      const majority = Math.floor(replicas / 2) + 1;
      const needed = pool.metadata.name === 'broker' ? (config['min.insync.replicas'] ?? 0) : majority;
      return {
        name: `Kafka: ${pool.metadata.name}s`,
        replicas,
        needed,
        spread: template.pod.topologySpreadConstraints,
      };
    });
  }

  function postgresPart(): Part {
    const cluster = find('Cluster', 'postgres');
    const { topologyKey } = fieldOf<{ topologyKey: string }>(cluster, 'affinity');
    const spread = [{ topologyKey, maxSkew: 1 }, ...fieldOf<Constraint[]>(cluster, 'topologySpreadConstraints')];
    return { name: 'Postgres', replicas: fieldOf<number>(cluster, 'instances'), needed: 1, spread };
  }

  function envoyPart(): Part {
    type Provider = {
      kubernetes: { envoyDeployment: { replicas: number; pod: { topologySpreadConstraints: Constraint[] } } };
    };
    const { kubernetes } = fieldOf<Provider>(find('EnvoyProxy', 'makerbook'), 'provider');
    const { replicas, pod } = kubernetes.envoyDeployment;
    return { name: 'Envoy', replicas, needed: 1, spread: pod.topologySpreadConstraints };
  }
});

/** Describes a Deployment with its fewest replicas: its own number, or else the autoscaler's minimum. */
function serviceOf(deployment: Manifest, manifests: readonly Manifest[]): Part {
  const { name } = deployment.metadata;
  const specOf = (kind: string) => manifests.find((manifest) => nameOf(manifest) === `${kind} ${name}`)?.spec;
  const scaled = specOf('HorizontalPodAutoscaler')?.['minReplicas'] ?? specOf('ScaledObject')?.['minReplicaCount'];
  const replicas = (deployment.spec?.['replicas'] ?? scaled) as number | undefined;
  if (replicas === undefined) throw new Error(`nobody says how many replicas ${name} has`);
  const { spec } = fieldOf<{ spec: { topologySpreadConstraints: Constraint[] } }>(deployment, 'template');
  return { name, replicas, needed: 1, spread: spec.topologySpreadConstraints };
}
