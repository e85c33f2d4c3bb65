import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { writeProcessesFile, writeStackFile } from '@makerbook/local-stack';
import { findFreePort } from '@makerbook/parts';
import { readOptions } from '@makerbook/settings';
import { findRoot } from '../conformance/find-root.js';
import { closeAtEnd } from '../kit/close-at-end.js';
import { openStack, TEST_STACK_VARIABLE } from '../kit/open-stack.js';
import { putOrdersOn } from '../kit/put-orders-on.js';
import { openParts, type Parts } from './open-parts.js';
import {
  ageOf,
  buildImage,
  findLooseRights,
  images,
  isHealthy,
  peakMemoryOf,
  podman,
  removeImages,
  requirePrograms,
  services,
} from './podman.js';
import { type Pods, type RunningPod, runPods } from './run-pods.js';
import { type Gateway, startGateway } from './start-gateway.js';

const USAGE = `npm run pods:check -- [--tag T] [--only tests|restarts] [--restart ingress,query] [--keep]
  renders the small overlay, and runs its pods by \`podman kube play\` on a Kafka, Postgres, Redis and chain of its own, nginx
  before them; the end-to-end tests of orders on them; then two pods of each service, each replaced in turn while makers
  place, list and cancel. Exits with 1 where a test or a request failed, or the feed or the list is
  wrong about an acknowledged order.
  --tag: images that exist, which are neither built nor removed. --keep: goes on until Ctrl-C. Needs podman, nginx and
  kubectl or kustomize, on Linux.`;
const { values } = readOptions(USAGE, {
  tag: { type: 'string' },
  only: { type: 'string' },
  restart: { type: 'string', default: services.join(',') },
  keep: { type: 'boolean', default: false },
});
requirePrograms('podman', 'nginx');
const ROUNDS_PER_SECOND = 24;
const PREFIX = `pods-${randomBytes(3).toString('hex')}`;
const shared = { PARTITIONS: '8', TOPIC_PREFIX: `${PREFIX}.`, REDIS_KEY_PREFIX: `${PREFIX}:` };
const tag = values.tag ?? `check-${process.pid}`;
const root = findRoot();
const folder = mkdtempSync(join(tmpdir(), 'makerbook-pods-'));
const { add, close, isClosing } = closeAtEnd();
add(() => rmSync(folder, { recursive: true, force: true }));

let isWrong = false;
const fault = (what: string) => {
  isWrong = true;
  console.log(`wrong: ${what}`);
};

try {
  if (values.tag === undefined) {
    add(() => removeImages(tag));
    for (const service of images) await buildImage(service, tag, root);
  }
  const parts = await openParts();
  add(() => parts.stop());
  // Turn off the sweep. Within seconds it finds what a log of the chain should lead to at once.
  const pods = runPods(PREFIX, tag, {
    ...parts.environment,
    ...shared,
    SWEEP_PAIRS_PER_SECOND: '0',
    // The tests move the clock of the chain.
    BLOCK_AHEAD_SECONDS_MAX: '100000',
  });
  add(() => pods.stop());
  for (const job of ['topics', 'migrate']) console.log(`job ${job}: ${await pods.runJob(job)}`);
  const gateway = await startAll(pods, parts);
  add(() => gateway.stop());
  if (values.only !== 'restarts') await runTests(pods);
  if (values.only !== 'tests') await restartAll(pods, gateway);
  if (values.keep) await new Promise(() => console.log(`MAKERBOOK_DATA=${folder} npm run demo`));
} catch (error) {
  // While the check closes, work fails because its parts are gone.
  if (!isClosing()) throw error;
} finally {
  await close();
}
process.exit(isWrong ? 1 : 0);

function upstreamsOf(pods: Pods, without?: RunningPod) {
  const portsOf = (service: string) =>
    pods
      .running()
      .filter((pod) => pod.service === service && pod !== without)
      .map(({ port }) => port);
  return { ingress: portsOf('ingress'), query: portsOf('query'), feed: portsOf('feed') };
}

/** Starts one pod of each service and the gateway, and writes the files by which tests and commands find them. */
async function startAll(pods: Pods, parts: Parts): Promise<Gateway> {
  for (const service of services) await pods.start(service);
  const say = async (pod: RunningPod) => console.log(`${pod.service}: ${await measureStart(pods, pod)}`);
  await Promise.all(pods.running().map(say));
  const gateway = await startGateway(await findFreePort(), upstreamsOf(pods));
  writeStackFile(folder, { baseUrl: gateway.url, ...parts.addresses });
  await writePods(pods);
  return gateway;
}

async function measureStart(pods: Pods, pod: RunningPod): Promise<string> {
  await pods.ready(pod);
  const age = await ageOf(pod.container);
  for (const loose of await findLooseRights(pod.container)) fault(`${pod.name} is not bounded: ${loose}`);
  return `ready in ${age.toFixed(1)} s`;
}

/** Writes the processes that podman runs now. Their ids change when podman restarts one. */
async function writePods(pods: Pods): Promise<void> {
  const listed = JSON.parse(await podman('ps', '--format', 'json')) as { Names: string[]; Pid: number }[];
  const processes = pods.running().flatMap(({ service, container, port, opsPort }) => {
    const pid = listed.find(({ Names }) => Names.includes(container))?.Pid;
    return pid === undefined ? [] : [{ name: service, pid, logFile: container, port, opsPort }];
  });
  writeProcessesFile(folder, { supervisorPid: process.pid, settings: shared, processes });
}

/** Runs the end-to-end tests of orders. One of them kills every pod. */
async function runTests(pods: Pods): Promise<void> {
  const watch = setInterval(() => void writePods(pods).catch((error: Error) => fault(error.message)), 1000);
  const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', `${root}/node_modules/.bin/jest`];
  const words = ['--forceExit', '--selectProjects', 'live', '--testPathPatterns', 'test/dist/end-to-end/orders'];
  const tests = spawn(process.execPath, [...jest, ...words], {
    cwd: root,
    env: { ...process.env, [TEST_STACK_VARIABLE]: folder },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  add(() => tests.kill());
  const [code] = (await once(tests, 'exit')) as [number | null];
  clearInterval(watch);
  if (code !== 0) fault(`the end-to-end tests ended with ${code}`);
}

/** Replaces two pods of each service under load, and compares every acknowledged order with feed and list. */
async function restartAll(pods: Pods, gateway: Gateway): Promise<void> {
  const replaced = services.filter((service) => values.restart.split(',').includes(service));
  await Promise.all(replaced.map(async (service) => pods.ready(await pods.start(service))));
  await gateway.route(upstreamsOf(pods));
  process.env[TEST_STACK_VARIABLE] = folder;
  const load = await putOrdersOn(await openStack({ ownParts: false }), ROUNDS_PER_SECOND);
  add(load.close);
  await pause(5000);
  for (const service of replaced) {
    for (const old of pods.running().filter((pod) => pod.service === service)) {
      const before = load.failures.length;
      const said = await replace(pods, gateway, old);
      console.log(`${service}: ${said}; ${load.failures.length - before} requests failed`);
    }
  }
  for (const wrong of [...(await load.judge()), ...load.failures]) fault(wrong);
}

/** Replaces a pod as its Deployment would: starts the new pod before the old one ends, or after that. */
async function replace(pods: Pods, gateway: Gateway, old: RunningPod): Promise<string> {
  const { service } = old;
  const peakMb = await peakMemoryOf(old.container);
  const isSurging = pods.surgeOf(service) > 0;
  let started = isSurging ? await measureStart(pods, await pods.start(service)) : '';
  if (service in upstreamsOf(pods)) await gateway.route(upstreamsOf(pods, old));
  const { seconds, exitCode } = await pods.end(old);
  if (exitCode !== 0) fault(`${old.name} ended with ${exitCode}`);
  if (!isSurging) started = await measureStart(pods, await pods.start(service));
  const newest = pods.running().at(-1);
  if (newest === undefined || !(await isHealthy(newest.container))) fault(`the new ${service} is not healthy`);
  return `${started}; the old one had ${peakMb.toFixed(0)} MB at most, and ended with ${exitCode} in ${seconds.toFixed(1)} s`;
}
