import type { Manifest } from './read-manifests.js';

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly EnvironmentVariable[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext?: Record<string, unknown>;
  readonly resources?: { readonly requests?: Record<string, string>; readonly limits?: Record<string, string> };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly [probe: string]: unknown;
}

interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly securityContext?: Record<string, unknown>;
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly Container[];
  readonly volumes?: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}

export interface Pod {
  /** Kind and name: `Deployment ingress`. */
  readonly owner: string;
  /** Name of the program: `ingress`, `operator`, `redis`. */
  readonly service: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

interface Template {
  readonly metadata: { readonly labels: Record<string, string> };
  readonly spec: PodSpec;
}

/** True if the pod runs an image of ours, and not Redis or nginx. */
export const isOurs = ({ spec }: Pod): boolean => spec.containers.every(({ image }) => /(^|\/)makerbook\//.test(image));

/** Returns the pods of every Deployment, StatefulSet, Job and CronJob. */
export function readPods(manifests: readonly Manifest[]): Pod[] {
  return manifests
    .filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job', 'CronJob'].includes(kind))
    .map(({ kind, metadata, spec }) => {
      const job = spec?.['jobTemplate'] as { spec: Record<string, unknown> } | undefined;
      const template = (job?.spec ?? spec)?.['template'] as Template;
      const { labels } = template.metadata;
      const service = labels['app.kubernetes.io/name'] ?? '';
      return { owner: `${kind} ${metadata.name}`, service, labels, spec: template.spec };
    });
}

/** Returns a container's environment, from its ConfigMaps and its own variables. No variable comes from a Secret. */
export function readEnvironmentOf(container: Container, manifests: readonly Manifest[]): Record<string, string> {
  const shared = (container.envFrom ?? []).map(({ configMapRef }) => {
    const map = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef.name);
    if (map === undefined) throw new Error(`there is no ConfigMap ${configMapRef.name}`);
    return map.data ?? {};
  });
  const own = (container.env ?? []).map(({ name, value }) => {
    if (value === undefined) throw new Error(`${name} has no value: give a Secret as a file`);
    return [name, value] as const;
  });
  return Object.assign({}, ...shared, Object.fromEntries(own));
}

interface SecretItems {
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

interface SecretVolume {
  readonly name: string;
  readonly secret?: SecretItems & { readonly secretName: string };
  readonly projected?: { readonly sources: readonly { readonly secret?: SecretItems & { readonly name: string } }[] };
}

/**
 * Returns the Secret and its key behind a file of a pod: `postgres-app/password`.
 * @throws if no Secret is mounted there
 */
export function findSecret({ owner, spec }: Pod, file: string): string {
  for (const { name, mountPath } of spec.containers.flatMap(({ volumeMounts = [] }) => volumeMounts)) {
    const volume = (spec.volumes as readonly SecretVolume[] | undefined)?.find((each) => each.name === name);
    const { secret, projected } = volume ?? {};
    const sources = [
      ...(secret === undefined ? [] : [{ ...secret, name: secret.secretName }]),
      ...(projected?.sources ?? []).flatMap((source) => (source.secret === undefined ? [] : [source.secret])),
    ];
    for (const source of sources) {
      const item = source.items?.find(({ path }) => `${mountPath}/${path}` === file);
      if (item !== undefined) return `${source.name}/${item.key}`;
    }
  }
  throw new Error(`${owner} has no Secret at ${file}`);
}
