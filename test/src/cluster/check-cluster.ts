import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { writeProcessesFile, writeStackFile } from '@makerbook/local-stack';
import { readWords, refuseWords } from '@makerbook/settings';
import { findRoot } from '../conformance/find-root.js';
import { closeAtEnd } from '../kit/close-at-end.js';
import { eventually } from '../kit/eventually.js';
import { openStack, TEST_STACK_VARIABLE } from '../kit/open-stack.js';
import { type PutOrders, putOrdersOn } from '../kit/put-orders-on.js';
import { endPart, expectCertificate, inSeconds, killPod, type Loaded, underLoad } from './disturb-cluster.js';
import { endPrimary, waitForStandbys } from './end-primary.js';
import { findLacks } from './find-lacks.js';
import { type ClusterParts, openClusterParts } from './open-parts.js';
import { type Places, type Plan, planCheck, profiles } from './plan-check.js';
import { PARTITIONS, prepareCheck } from './prepare-check.js';
import { openShell, type Run } from './run-commands.js';

const USAGE = `npm run cluster:check -- [small|production|chart] --address A [--images localhost/makerbook] [--tag 0.1.0] [--plan]
  installs Makerbook on the cluster of KUBECONFIG by the commands of the documents, on parts that it starts on this machine;
  places and cancels through the gateway under a release and back, while a machine is drained, each pod and each part is killed,
  and secrets are renewed; loses Kafka, and restores the log from its archive and the rows; takes all away.
  production: the same with its Postgres of CloudNativePG, whose primary ends in three ways, and with its Redis.
  Names first what the cluster lacks, and touches no namespace that is there. Exits with 1 where something is wrong.
  --address: of this machine, in a private range, as pods reach it. --images, --tag: of the images, which the cluster has or can
  pull. --plan: prints the commands, and runs none. Needs kubectl, jq and openssl, and helm for the chart.`;
/** Each round is two requests or three. */
const ROUNDS_PER_SECOND = 15;
/** As long as CloudNativePG takes for a killed primary (deploy/runbooks/operations.md). */
const PART_AWAY_MAX_MS = 27_000;

const { values, positionals } = readWords(USAGE, {
  address: { type: 'string' },
  images: { type: 'string', default: 'localhost/makerbook' },
  tag: { type: 'string', default: '0.1.0' },
  plan: { type: 'boolean', default: false },
});
const [word = 'small', ...more] = positionals;
const profile =
  profiles.find((each) => each === word) ?? refuseWords(`small, production or chart is checked, and not \`${word}\``);
const isProduction = profile === 'production';
if (more.length > 0) refuseWords(`one profile is checked, and not \`${more.join(' ')}\` too`);
const root = findRoot();
const folder = join(tmpdir(), `makerbook-cluster-${process.pid}`);
const inFolder = (name: string) => join(folder, name);
// kustomize takes a base only by its relative path from the overlay.
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
  // While the check closes, work fails because its parts are gone.
  if (!isClosing()) throw error;
} finally {
  await close();
}
for (const fault of faults) console.log(`wrong: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

/** Runs commands, and tells how long they took, or what is wrong. */
type Step = (name: string, commands: string) => Promise<void>;

async function check(plan: Plan): Promise<void> {
  const { install, diff, uninstall, functions } = plan;
  const { needed, missing, nodes, hasStorage } = await findLacks(openShell(root, {}), profile);
  for (const lack of missing) console.log(`the cluster lacks ${lack}`);
  if (needed.length > 0) {
    faults.push(...needed);
    return;
  }
  // The chart's small has no archive.
  const hasArchive = hasStorage && profile !== 'chart';
  const components = [...(hasArchive ? ['log-archive'] : []), ...(isProduction ? ['redis', 'postgres-cnpg'] : [])];
  const parts = await openClusterParts(folder, address);
  add(parts.stop);
  const { images, tag } = values;
  const preparation = { root, folder, ways, places, images, tag, components };
  const { variables, nextCertFile } = await prepareCheck(preparation, openShell(root, {}), parts);
  const given = parts.manifests(isProduction ? ['kafka', 'chain'] : ['kafka', 'chain', 'postgres', 'redis']);
  writeFileSync(inFolder('parts.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: given }));
  const run = openShell(root, variables, functions);
  const step: Step = async (name, commands) => {
    const startMs = performance.now();
    const { status, stdout, stderr } = await run(commands);
    console.log(`${name}: ${status === 0 ? 'done' : `ended with ${status}`} in ${inSeconds(startMs)}`);
    if (status !== 0) faults.push(`${name}: ${stdout}${stderr}`);
  };
  add(() => step('uninstall', uninstall).then(() => expectNothingLeft(run)));
  // The diff ends with 1 if an apply would change something.
  const compare = async (when: string) => diff !== undefined && step(`diff ${when}`, diff);
  await step('install', withParts(install, inFolder('parts.json')));
  if (faults.length > 0) return;
  await compare('after the install');
  await step('doctor', 'operator doctor');
  await tryStranger(run);
  const { load, gateway } = await startLoad(run, parts);
  add(load.close);
  await pause(5_000);
  const loaded = { run, load, faults };
  await underLoad(loaded, 'release', () => step('release', plan.release), 0);
  await underLoad(loaded, 'roll back', () => step('roll back', plan.rollBack), 0);
  await compare('after the release and back');
  // Do not drain the node by which the load reaches the gateway.
  const node = nodes.find((each) => each !== gateway.node);
  if (node !== undefined) {
    await step('two of each service', `REPLICAS=2\n${plan.scale}`);
    // If the cluster runs Postgres, its primary moves, and requests may fail.
    const drain = () => step('drain', `NODE=${node}\n${plan.drain}`);
    await underLoad(loaded, `drain ${node}`, drain, isProduction ? Infinity : 0);
    await step('one of each service', `REPLICAS=1\n${plan.scale}`);
  }
  await killAll(loaded, parts);
  const renew = () => step('renew', plan.renew).then(() => expectCertificate(loaded, gateway.url, nextCertFile));
  await underLoad(loaded, 'renew', renew, 0);
  faults.push(...(await load.judge({ ofRows: !isProduction })));
  for (const command of plan.runbooks.split('\n')) await step(command, command);
  await step('verify', 'operator verify');
  if (hasArchive) await loseLog(load, step, plan, parts.restart);
}

/** Kills each pod of the services and of the gateway once, and then each part. */
async function killAll(loaded: Loaded, { restart }: ClusterParts): Promise<void> {
  const end = (what: string, work: () => Promise<void>, awayMaxMs: number) =>
    underLoad(loaded, what, () => endPart(loaded, what, work, awayMaxMs));
  const { stdout } = await loaded.run(
    `kubectl -n makerbook get pods -l 'app.kubernetes.io/name notin (operator,redis),!cnpg.io/cluster' -o json |
       jq -r '.items[].metadata | select(.deletionTimestamp == null) | "pod/" + .name'`,
  );
  for (const pod of stdout.trim().split('\n')) await underLoad(loaded, `kill ${pod}`, () => killPod(loaded, pod));
  for (const name of isProduction ? ['Kafka'] : ['Kafka', 'Postgres', 'Redis'])
    await end(`restart of ${name}`, () => restart(name), PART_AWAY_MAX_MS);
  if (!isProduction) return;
  for (const [name, { commands, awayMaxMs }] of Object.entries(endPrimary)) {
    await runAll(loaded, waitForStandbys);
    await end(name, () => runAll(loaded, commands), awayMaxMs);
  }
}

async function runAll({ run }: Loaded, commands: string): Promise<void> {
  const { status, stderr } = await run(commands);
  if (status !== 0) faults.push(stderr);
}

/** Has Kafka lose its disks, and restores the log from its archive and the rows. */
async function loseLog(
  load: PutOrders,
  step: Step,
  { stop, restore, rollBack, migrated, resume }: Plan,
  restart: ClusterParts['restart'],
) {
  const verifyArchive = () => step('verify the archive', 'operator log verify /archive');
  await verifyArchive();
  const before = await load.readLists();
  await step('stop', stop);
  await restart('Kafka', true);
  console.log('lost: Kafka, with its data');
  await step('restore the log', restore);
  if (isProduction) await step('delete Postgres', 'kubectl -n makerbook delete cluster postgres');
  else await restart('Postgres', true);
  await step('release', `${rollBack}\n${migrated}`);
  await step('take orders', resume);
  await eventually(load.readLists, before).catch(() => faults.push('the lists are not those of before the restore'));
  await step('verify', 'operator verify');
  await verifyArchive();
}

/** Adds the parts to the install, so that their names exist before anything looks for them. */
function withParts(install: string, file: string): string {
  const namespace = install.split('\n').find((line) => line.includes('namespace.yaml'));
  if (namespace === undefined) throw new Error('the install makes no namespace');
  return install.replace(namespace, `${namespace}\nkubectl -n makerbook apply -f ${file}`);
}

/** Starts makers and a follower of the feed. They reach the gateway at the node of one of its pods, by TLS. */
async function startLoad(run: Run, { addresses }: ClusterParts) {
  const { stdout } = await run(
    `kubectl -n makerbook get pods -l app.kubernetes.io/name=gateway -o jsonpath='{.items[0].spec.nodeName} {.items[0].status.hostIP}'
     kubectl -n makerbook get service gateway -o jsonpath=' {.spec.ports[0].nodePort}'`,
  );
  const [node, ip, port] = stdout.split(' ');
  const url = `https://${ip}:${port}`;
  writeStackFile(folder, { ...addresses, baseUrl: url });
  writeProcessesFile(folder, { supervisorPid: process.pid, settings: { PARTITIONS }, processes: [] });
  process.env[TEST_STACK_VARIABLE] = folder;
  return { load: await putOrdersOn(await openStack({ ownParts: false }), ROUNDS_PER_SECOND), gateway: { node, url } };
}

/** Checks that network policies are enforced: none lets ingress reach query. */
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
