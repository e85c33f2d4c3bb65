import { type Manifest, type Pod, readEnvironmentOf } from '@makerbook/deploy-checks';

export interface PodPlan {
  /** Name of the pod: `ingress-a`. */
  readonly name: string;
  readonly image: string;
  readonly port: number;
  readonly opsPort: number;
  /** Overrides the manifest's environment: addresses of this machine, and what Secrets would hold. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Adapts a rendered pod to `podman kube play`. Security contexts, limits and settings stay as they are. It changes only
 * what one machine without a cluster lacks. The pod uses the machine's network, so it has its own ports. Its settings
 * are written out, because this podman reads Secrets differently from Kubernetes. The image's own command checks its
 * liveness, because podman asks no URL.
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
