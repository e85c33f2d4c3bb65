import { type Manifest, type Pod, readEnvironmentOf } from '@makerbook/deploy-checks';

export interface PodPlan {
  /** Name of the pod: `ingress-a`. */
  readonly name: string;
  readonly image: string;
  readonly port: number;
  readonly opsPort: number;
  /** Put over the environment of the manifest: addresses of this machine, and what Secrets would hold. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * A rendered pod as `podman kube play` takes it. Security contexts, limits and settings stay as they are. What changes
 * is what one machine without a cluster lacks: the pod uses the machine's network, so it has ports of its own; its
 * settings are written out, for this podman reads Secrets otherwise than Kubernetes; and its liveness is asked by the
 * image's own command, for podman asks no URL.
 */
export function adaptPod(pod: Pod, manifests: readonly Manifest[], plan: PodPlan): object {
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error(`${pod.owner} has no container`);
  const {
    env: _,
    envFrom: _from,
    startupProbe: _s,
    readinessProbe: _r,
    lifecycle: _l,
    volumeMounts: _v,
    ...kept
  } = container;
  const { volumes: _volumes, topologySpreadConstraints: _t, serviceAccountName: _a, ...spec } = pod.spec;
  const environment = {
    ...Object.fromEntries(
      Object.entries(readEnvironmentOf(container, manifests)).filter(([name]) => !name.endsWith('_FILE')),
    ),
    PORT: String(plan.port),
    OPS_PORT: String(plan.opsPort),
    ...plan.environment,
  };
  const isJob = pod.owner.startsWith('Job');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: plan.name, labels: pod.labels },
    spec: {
      ...spec,
      hostNetwork: true,
      restartPolicy: isJob ? 'Never' : 'Always',
      containers: [
        {
          ...kept,
          image: plan.image,
          env: Object.entries(environment).map(([name, value]) => ({ name, value })),
          ports: [],
          ...(!isJob && {
            livenessProbe: { exec: { command: ['/usr/local/bin/node', '/app/check-health.js'] }, timeoutSeconds: 30 },
          }),
        },
      ],
    },
  };
}
