import { type Manifest, type Pod, readPods, renderOverlay } from '@makerbook/deploy-checks';
import { findFreePorts } from '@makerbook/parts';
import { adaptPod } from './adapt-pod.js';
import { imageOf, play, podman, stopContainer, waitForEnd, waitUntilReady } from './podman.js';

/** A running pod. `container` is its only container. */
export interface RunningPod {
  readonly name: string;
  readonly service: string;
  readonly container: string;
  readonly port: number;
  readonly opsPort: number;
}

export type Pods = ReturnType<typeof runPods>;

/** The pods of the small overlay, as `podman kube play` runs them. @param name prefix of each pod's name */
export function runPods(name: string, tag: string, environment: Readonly<Record<string, string>>) {
  const manifests = renderOverlay('small');
  const templates = readPods(manifests);
  const names = new Set<string>();
  const running: RunningPod[] = [];
  let number = 0;
  let isStopped = false;

  async function create(owner: string, label: string): Promise<RunningPod> {
    if (isStopped) throw new Error('no pod is started any more');
    const template: Pod | undefined = templates.find((pod) => pod.owner === owner);
    if (template === undefined) throw new Error(`the overlay has no ${owner}`);
    const [port = 0, opsPort = 0] = await findFreePorts(2);
    const plan = { name: `${name}-${label}`, image: imageOf(template.service, tag), port, opsPort, environment };
    names.add(plan.name);
    play(adaptPod(template, manifests, plan));
    return { name: plan.name, service: template.service, container: `${plan.name}-main`, port, opsPort };
  }
  return {
    /** The running pods, oldest first. */
    running: (): readonly RunningPod[] => running,
    /** Starts one more pod of a Deployment. It becomes ready later. */
    async start(service: string): Promise<RunningPod> {
      const pod = await create(`Deployment ${service}`, `${service}-${++number}`);
      running.push(pod);
      return pod;
    },
    ready: (pod: RunningPod) => waitUntilReady(`http://127.0.0.1:${pod.opsPort}/readyz`),
    /** Runs a Job to its end. @returns what it printed */
    async runJob(job: string): Promise<string> {
      return waitForEnd((await create(`Job ${job}`, job)).container);
    },
    /** Ends a pod as Kubernetes does. */
    async end(pod: RunningPod) {
      running.splice(running.indexOf(pod), 1);
      const ended = await stopContainer(pod.container);
      await podman('pod', 'rm', '--force', pod.name);
      names.delete(pod.name);
      return ended;
    },
    /** How many pods more than wanted a Deployment may have while it is rolled out. */
    surgeOf(service: string): number {
      const deployment = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === service);
      return (deployment as Deployment).spec.strategy.rollingUpdate.maxSurge;
    },
    async stop(): Promise<void> {
      isStopped = true;
      const remove = (pod: string) => podman('pod', 'rm', '--force', '--time', '5', '--ignore', pod);
      await Promise.all([...names].map(remove));
    },
  };
}

type Deployment = Manifest & {
  readonly spec: { readonly strategy: { readonly rollingUpdate: { readonly maxSurge: number } } };
};
