import { type Manifest, nameOf } from './read-manifests.js';
import type { Container, PodSpec } from './read-pods.js';

type Templates = Readonly<Record<string, { readonly securityContext?: Record<string, unknown> }>>;

interface OperatedPod {
  readonly owner: string;
  readonly spec: PodSpec;
}

/** Returns the pods that Strimzi makes from a `Kafka` and its node pools, with the security of their templates. */
export function readOperatedPods(manifests: readonly Manifest[]): OperatedPod[] {
  const [kafka] = manifests.filter(({ kind }) => kind === 'Kafka');
  const templatesOf = (manifest: Manifest | undefined, part: string) =>
    (manifest?.spec?.[part] as { template?: Templates } | undefined)?.template;
  const pools = manifests
    .filter(({ kind }) => kind === 'KafkaNodePool')
    .map((pool) => {
      // Strimzi takes the templates of a node pool, or else those of its Kafka. It never merges them.
      const templates = (pool.spec?.['template'] as Templates | undefined) ?? templatesOf(kafka, 'kafka');
      return podOf(nameOf(pool), ['kafkaContainer', 'initContainer'], templates);
    });
  if (kafka === undefined) return pools;
  const operators = ['topicOperatorContainer', 'userOperatorContainer'];
  return [...pools, podOf(`entity operator of ${nameOf(kafka)}`, operators, templatesOf(kafka, 'entityOperator'))];
}

function podOf(owner: string, names: readonly string[], templates: Templates = {}): OperatedPod {
  const containers = names.map((name): Container => ({ name, image: '', ...templates[name] }));
  return { owner, spec: { ...templates['pod'], containers } };
}
