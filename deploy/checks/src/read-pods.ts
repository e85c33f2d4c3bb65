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
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
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
  /** `Deployment ingress`. */
  readonly owner: string;
  /** Of ours: `ingress`, `operator`. */
  readonly service: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

interface Template {
  readonly metadata: { readonly labels: Record<string, string> };
  readonly spec: PodSpec;
}

/** The pods of every Deployment, StatefulSet, Job and CronJob. */
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

/**
 * The environment that a container starts with: of its ConfigMaps and its own variables. A value out of a Secret is what
 * `secret` makes of the variable's name.
 */
export function readEnvironmentOf(
  container: Container,
  manifests: readonly Manifest[],
  secret: (name: string) => string,
): Record<string, string> {
  const shared = (container.envFrom ?? []).map(({ configMapRef }) => {
    const map = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef.name);
    if (map === undefined) throw new Error(`there is no ConfigMap ${configMapRef.name}`);
    return map.data ?? {};
  });
  const own = (container.env ?? []).map(({ name, value }) => [name, value ?? secret(name)] as const);
  return Object.assign({}, ...shared, Object.fromEntries(own));
}
