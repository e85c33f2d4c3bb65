import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { writeProcessesFile, writeStackFile } from '@makerbook/local-stack';
import { createAuthority } from '@makerbook/parts';
import { readWords, refuseWords } from '@makerbook/settings';
import { findRoot } from '../conformance/find-root.js';
import { closeAtEnd } from '../kit/close-at-end.js';
import { openStack, TEST_STACK_VARIABLE } from '../kit/open-stack.js';
import { type PutOrders, putOrdersOn } from '../kit/put-orders-on.js';
import { findLacks } from './find-lacks.js';
import { type ClusterParts, openClusterParts } from './open-parts.js';
import { chartImages, type Places, type Plan, planCheck, profiles } from './plan-check.js';
import { openShell, type Run } from './run-commands.js';

const USAGE = `npm run cluster:check -- [small|chart] --address A [--images localhost/makerbook] [--tag 0.1.0] [--plan]
  installs Makerbook on the cluster of KUBECONFIG by the commands of the documents, on parts that it starts on this machine;
  places and cancels through the gateway under a release, and while each pod is killed once; rolls back, and takes all away.
  Names first what the cluster lacks, and touches no namespace that is there. Exits with 1 where something is wrong.
  --address: of this machine, in a private range, as pods reach it. --images, --tag: of the images, which the cluster has or can
  pull. --plan: prints the commands, and runs none. Needs kubectl, jq and openssl, and helm for the chart.`;
/** Each round is two requests or three. */
const ROUNDS_PER_SECOND = 15;
const PARTITIONS = '12';

const { values, positionals } = readWords(USAGE, {
  address: { type: 'string' },
  images: { type: 'string', default: 'localhost/makerbook' },
  tag: { type: 'string', default: '0.1.0' },
  plan: { type: 'boolean', default: false },
});
const [word = 'small', ...more] = positionals;
const profile = profiles.find((each) => each === word) ?? refuseWords(`small or chart is checked, and not \`${word}\``);
if (more.length > 0) refuseWords(`one profile is checked, and not \`${more.join(' ')}\` too`);
const root = findRoot();
const folder = join(tmpdir(), `makerbook-cluster-${process.pid}`);
const inFolder = (name: string) => join(folder, name);
// kustomize takes a base by its way from the overlay alone.
const ways = join(root, '.local', `cluster-check-${process.pid}`);
const places: Places = {
  overlay: relative(root, join(ways, 'overlay')),
  nextOverlay: relative(root, join(ways, 'next')),
  chart: inFolder('chart'),
  values: inFolder('values.json'),
  nextValues: inFolder('next-values.json'),
};
const plan = planCheck(profile, places);
if (values.plan) {
  for (const [step, commands] of Object.entries(plan)) console.log(`# ${step}\n${commands ?? 'none'}\n`);
  process.exit(0);
}
const address = values.address ?? refuseWords('--address is needed');
mkdirSync(folder);
const faults: string[] = [];
const { add, close, isClosing } = closeAtEnd();
add(() => {
  for (const made of [folder, ways]) rmSync(made, { recursive: true, force: true });
});

try {
  await check(plan);
} catch (error) {
  // What is taken away under it fails.
  if (!isClosing()) throw error;
} finally {
  await close();
}
for (const fault of faults) console.log(`wrong: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

async function check({ install, release, rollBack, diff, uninstall, functions }: Plan): Promise<void> {
  const { needed, missing } = await findLacks(openShell(root, {}));
  for (const lack of missing) console.log(`the cluster lacks ${lack}`);
  if (needed.length > 0) {
    faults.push(...needed);
    return;
  }
  const parts = await openClusterParts(folder, address);
  add(parts.stop);
  const run = openShell(root, await prepare(parts), functions);
  const step = async (name: string, commands: string) => {
    const startMs = performance.now();
    const { status, stdout, stderr } = await run(commands);
    console.log(`${name}: ${status === 0 ? 'done' : `ended with ${status}`} in ${inSeconds(startMs)}`);
    if (status !== 0) faults.push(`${name}: ${stdout}${stderr}`);
  };
  add(() => step('uninstall', uninstall).then(() => expectNothingLeft(run)));
  // It ends with 1 where an apply would change something.
  const compare = async (when: string) => diff !== undefined && step(`diff ${when}`, diff);
  await step('install', withParts(install, inFolder('parts.json')));
  if (faults.length > 0) return;
  await compare('after the install');
  await step('doctor', 'operator doctor');
  await tryStranger(run);
  const load = await startLoad(run, parts);
  add(load.close);
  await pause(5_000);
  await underLoad(load, 'release', () => step('release', release), 0);
  await underLoad(load, 'roll back', () => step('roll back', rollBack), 0);
  await compare('after the release and back');
  for (const pod of (await run('kubectl -n makerbook get pods -l app.kubernetes.io/name!=operator -o name')).stdout
    .trim()
    .split('\n'))
    await underLoad(load, `kill ${pod}`, () => killPod(run, pod));
  faults.push(...(await load.judge()));
  await step('verify', 'operator verify');
}

/** Certificates and keys, overlays and values. @returns variables of the commands */
async function prepare({ environment, manifests }: ClusterParts): Promise<Record<string, string>> {
  const { stdout } = await openShell(
    root,
    {},
  )(`kubectl get nodes -o jsonpath='{.items[*].status.addresses[?(@.type=="InternalIP")].address}'`);
  const authority = createAuthority(folder);
  const nodes = stdout.trim().split(' ');
  const { certFile, keyFile } = authority.sign('gateway', ...nodes.map((ip) => `IP:${ip}`));
  setDefaultCACertificates([...getCACertificates(), readFileSync(authority.caFile, 'utf8')]);
  const { CHAIN_ID, SERVICE_NAME, LIMIT_ORDER_PROTOCOL_ADDRESS, MULTICALL_ADDRESS, NAVIGATOR_ADDRESS } = environment;
  const contracts = { LIMIT_ORDER_PROTOCOL_ADDRESS, MULTICALL_ADDRESS, NAVIGATOR_ADDRESS };
  const settings = { CHAIN_ID, SERVICE_NAME, ...contracts, PARTITIONS };
  const list = { apiVersion: 'v1', kind: 'List', items: manifests.flat() };
  writeFileSync(inFolder('parts.json'), JSON.stringify(list));
  // Any other value of a setting rolls all services out.
  const next = { ...settings, HISTORY_DAYS: '31' };
  writeOverlay(join(ways, 'overlay'), settings);
  writeOverlay(join(ways, 'next'), next);
  const images = chartImages(values.images, values.tag);
  writeFileSync(places.values, JSON.stringify({ settings, images }));
  writeFileSync(places.nextValues, JSON.stringify({ settings: next, images }));
  writeFileSync(inFolder('quote-signer'), environment.QUOTE_SIGNER_KEY);
  return {
    POSTGRES_PASSWORD: 'makerbook',
    RPC_URL: 'http://chain:8551',
    QUOTE_SIGNER_KEY_FILE: inFolder('quote-signer'),
    GATEWAY_CERT_FILE: certFile,
    GATEWAY_KEY_FILE: keyFile,
  };
}

function writeOverlay(at: string, settings: Readonly<Record<string, string>>): void {
  mkdirSync(at, { recursive: true });
  const services = ['ingress', 'query', 'feed', 'chain-watcher', 'projector', 'operator'];
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace: 'makerbook',
    resources: [relative(at, join(root, 'deploy/k8s/overlays/small'))],
    images: services.map((service) => ({
      name: `localhost/makerbook/${service}`,
      newName: `${values.images}/${service}`,
      newTag: values.tag,
    })),
    configMapGenerator: [
      {
        name: 'settings',
        behavior: 'merge',
        literals: Object.entries(settings).map(([name, value]) => `${name}=${value}`),
      },
    ],
  };
  writeFileSync(join(at, 'kustomization.yaml'), JSON.stringify(kustomization));
}

/** The parts have their names before anything looks for them. */
function withParts(install: string, file: string): string {
  const namespace = install.split('\n').find((line) => line.includes('namespace.yaml'));
  if (namespace === undefined) throw new Error('the install makes no namespace');
  return install.replace(namespace, `${namespace}\nkubectl -n makerbook apply -f ${file}`);
}

/** Makers and a follower of the feed; the gateway is asked at the node of one of its pods, by TLS. */
async function startLoad(run: Run, { addresses }: ClusterParts): Promise<PutOrders> {
  const { stdout } = await run(
    `kubectl -n makerbook get pods -l app.kubernetes.io/name=gateway -o jsonpath='{.items[0].status.hostIP}'
     kubectl -n makerbook get service gateway -o jsonpath=':{.spec.ports[0].nodePort}'`,
  );
  writeStackFile(folder, { ...addresses, baseUrl: `https://${stdout}` });
  writeProcessesFile(folder, { supervisorPid: process.pid, settings: { PARTITIONS }, processes: [] });
  process.env[TEST_STACK_VARIABLE] = folder;
  return putOrdersOn(await openStack({ ownParts: false }), ROUNDS_PER_SECOND);
}

/** @param failuresMax requests that may fail meanwhile; any number unless given */
async function underLoad(load: PutOrders, what: string, work: () => Promise<unknown>, failuresMax = Infinity) {
  const before = load.failures.length;
  await work();
  await pause(2_000);
  const failed = load.failures.length - before;
  console.log(`${what}: ${failed} requests failed`);
  if (failed > failuresMax) faults.push(`${what}: ${failed} requests failed, the first: ${load.failures[before]}`);
}

async function killPod(run: Run, pod: string): Promise<void> {
  const startMs = performance.now();
  // The Deployment does not know yet that a pod is gone: its pods are counted.
  const { status, stderr } = await run(
    `service=$(kubectl -n makerbook get ${pod} -o jsonpath='{.metadata.labels.app\\.kubernetes\\.io/name}')
     wanted=$(kubectl -n makerbook get deploy $service -o jsonpath='{.spec.replicas}')
     ready='{.items[*].status.conditions[?(@.type=="Ready")].status}'
     kubectl -n makerbook delete ${pod} --grace-period=0 --force
     tries=0
     until [ $(kubectl -n makerbook get pods -l app.kubernetes.io/name=$service -o jsonpath="$ready" | grep -o True | wc -l) -ge $wanted ]; do
       if [ $((tries += 1)) -ge 300 ]; then echo "no other one is ready" >&2; exit 1; fi
       sleep 1
     done`,
  );
  if (status === 0) console.log(`kill ${pod}: another one is ready after ${inSeconds(startMs)}`);
  else faults.push(`kill ${pod}: ${stderr}`);
}

/** Whether policies are enforced: none lets ingress ask query. */
async function tryStranger(run: Run): Promise<void> {
  const ask = `fetch('http://query:8080/', { signal: AbortSignal.timeout(3000) }).then(() => 'answered', () => 'not answered')`;
  const { status, stdout, stderr } = await run(
    `kubectl -n makerbook exec deploy/ingress -- node -e "${ask}.then(console.log)"`,
  );
  if (status !== 0) faults.push(`a request of ingress to query: ${stderr}`);
  else if (stdout.trim() === 'answered')
    console.log('the cluster lacks a CNI that enforces policies: query answered ingress');
  else console.log('policies: query does not answer ingress');
}

async function expectNothingLeft(run: Run): Promise<void> {
  const { stdout } = await run(
    `kubectl get namespace makerbook --ignore-not-found -o name
     kubectl get all,networkpolicy,secret,configmap,pvc -A -l app.kubernetes.io/part-of=makerbook -o name`,
  );
  if (stdout.trim() !== '') faults.push(`left behind: ${stdout.trim().split('\n').join(', ')}`);
}

function inSeconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
}
