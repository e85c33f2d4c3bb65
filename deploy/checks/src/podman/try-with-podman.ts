import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Manifest, readOverlay, root } from '../read-manifests.js';
import { readPods } from '../read-pods.js';
import { adaptPod } from './adapt-pod.js';
import { type Gateway, startGateway } from './gateway.js';
import { ageOf, inspectProcess, play, podman, stopPod, waitForEnd, waitUntilReady } from './podman.js';
import { putLoadOn } from './put-load-on.js';

/**
 * The pods of the small overlay under podman, on the Kafka, Postgres, Redis and chain of a local stack that runs: topics and
 * database of their own beside its. `node try-with-podman.js <data folder of the stack> <tag of the images>`; README.md of
 * deploy/k8s says what it shows. Leaves the pods running with `--keep`.
 */
const [folder = '.local', tag = '0.1.0'] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const stack = JSON.parse(readFileSync(join(folder, 'stack.json'), 'utf8')) as Record<string, string>;
const name = `pods-${randomBytes(3).toString('hex')}`;
const manifests = readOverlay('small');
const pods = readPods(manifests);
const started = new Set<string>();

const { createDatabase } = (await import(`${root}deploy/local/dist/create-database.js`)) as {
  createDatabase(url: string, name: string): Promise<string>;
};
const environment = {
  KAFKA_BROKERS: stack['kafkaBrokers'] ?? '',
  DATABASE_URL: await createDatabase(stack['databaseUrl'] ?? '', name.replace('-', '_')),
  REDIS_URL: stack['redisUrl'] ?? '',
  REDIS_KEY_PREFIX: `${name}:`,
  TOPIC_PREFIX: `${name}.`,
  RPC_URL: stack['rpcUrl'] ?? '',
  CHAIN_ID: String(stack['chainId']),
  SERVICE_NAME: stack['serviceName'] ?? '',
  LIMIT_ORDER_PROTOCOL_ADDRESS: stack['limitOrderProtocol'] ?? '',
  MULTICALL_ADDRESS: stack['multicall'] ?? '',
  NAVIGATOR_ADDRESS: stack['navigator'] ?? '',
  QUOTE_SIGNERS: String(stack['quoteSigners'] ?? ''),
  QUOTE_SIGNER_KEY: readFileSync(join(folder, 'quote-signer.key'), 'utf8').trim(),
};

let nextPort = 21_000 + Math.floor(Math.random() * 400) * 20;
function start(service: string, letter: string, owner = `Deployment ${service}`, words?: string[]) {
  const found = pods.find((pod) => pod.owner === owner);
  if (found === undefined) throw new Error(`there is no ${owner}`);
  const plan = {
    name: `${name}-${service}-${letter}`,
    image: `localhost/makerbook/${found.service}:${tag}`,
    port: nextPort++,
    opsPort: nextPort++,
    environment,
  };
  const pod = adaptPod(found, manifests, plan) as Manifest & { spec: { containers: { args?: string[] }[] } };
  for (const container of pod.spec.containers) if (words !== undefined) container.args = words;
  play(pod);
  started.add(plan.name);
  return plan;
}
const readyOf = (plan: { opsPort: number }) => `http://127.0.0.1:${plan.opsPort}/readyz`;
const logOf = (text: string) => console.log(text.replace(/^/gm, '  '));

let gateway: Gateway | undefined;
try {
  for (const job of ['topics', 'migrate']) {
    console.log(`job ${job}`);
    logOf(await waitForEnd(start(job, 'a', `Job ${job}`).name));
  }
  const services = ['projector', 'chain-watcher', 'ingress', 'query'] as const;
  const running = new Map<string, ReturnType<typeof start>>();
  for (const service of services) running.set(service, start(service, 'a'));
  for (const [service, plan] of running) {
    await waitUntilReady(readyOf(plan));
    console.log(`${service} is ready`, await inspectProcess(plan.name));
  }
  const upstreams = () => ({
    ingress: [running.get('ingress')?.port ?? 0],
    query: [running.get('query')?.port ?? 0],
  });
  gateway = await startGateway(nextPort++, upstreams());
  const data = await mkdtemp(join(tmpdir(), 'makerbook-'));
  writeFileSync(join(data, 'stack.json'), JSON.stringify({ ...stack, baseUrl: gateway.url }));
  console.log(
    `gateway ${gateway.url}; demo: MAKERBOOK_DATA=${data} TOPIC_PREFIX=${environment.TOPIC_PREFIX} npm run demo`,
  );

  const load = putLoadOn(gateway.url);
  for (const service of services) {
    const old = running.get(service);
    if (old === undefined) continue;
    const fresh = start(service, 'b');
    running.set(service, fresh);
    await waitUntilReady(readyOf(fresh));
    const readyMs = await ageOf(fresh.name);
    await gateway.route(upstreams());
    const { tookMs, exitCode } = await stopPod(old.name);
    started.delete(old.name);
    console.log(
      `${service}: the new pod was ready ${readyMs} ms after its start, the old one ended with ${exitCode} in ${Math.round(tookMs)} ms`,
    );
    await waitUntilReady(readyOf(fresh));
  }
  console.log('under load meanwhile:', await load.stop());
  const stats = ['stats', '--no-stream', '--format', '{{.Name}} {{.MemUsage}} {{.CPU}}'];
  logOf(
    (await podman(...stats))
      .split('\n')
      .filter((line) => line.includes('-main'))
      .join('\n'),
  );
  for (const plan of running.values()) await podman('healthcheck', 'run', `${plan.name}-main`);
  console.log('the health check of every image passes');
  if (process.argv.includes('--keep')) await new Promise((resolve) => process.once('SIGINT', resolve));
} finally {
  await gateway?.stop();
  for (const pod of started) await podman('pod', 'rm', '--force', '--time', '5', pod).catch(() => undefined);
}
