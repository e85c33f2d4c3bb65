import { expect, test } from '@jest/globals';
import { findRenderer, isOurs, nameOf, readPods, renderOverlay } from '@makerbook/deploy-checks';
import { CORES_MIN, findLacks, readCores } from './find-lacks.js';
import { chartImages, planCheck } from './plan-check.js';

const places = { overlay: '/a', nextOverlay: '/b', chart: '/c', values: '/v', nextValues: '/w' };
const doubled = 'deploy/ingress deploy/query deploy/feed deploy/projector';
const WAIT = 'kubectl -n makerbook rollout status deploy -l app.kubernetes.io/part-of=makerbook --timeout=900s';

const maker = `0x${'1'.repeat(40)}`;
/** The same for each profile. */
const shared = {
  scale: `kubectl -n makerbook scale ${doubled} --replicas="$REPLICAS"\n${WAIT}`,
  drain: [
    'kubectl drain "$NODE" --ignore-daemonsets --delete-emptydir-data --timeout=10m',
    'kubectl uncordon "$NODE"\n',
  ].join('\n'),
  renew: [
    'renew() { kubectl -n makerbook create secret "$@" --dry-run=client -o yaml | kubectl replace -f -; }',
    'renew tls gateway-certificate --cert="$NEW_CERT_FILE" --key="$NEW_KEY_FILE"',
    'renew generic chain --from-file=rpc-url="$RPC_URL_FILE" && kubectl -n makerbook rollout restart deploy/chain-watcher\n',
  ].join('\n'),
  stop: [
    'kubectl -n makerbook scale deploy/feed deploy/log-archive deploy/ingress deploy/query deploy/projector deploy/chain-watcher --replicas=0',
    "kubectl -n makerbook wait --for=delete pod -l 'app.kubernetes.io/name in (ingress,query,projector,chain-watcher)' --timeout=120s",
  ].join('\n'),
  restore: 'operator log restore /archive && operator log verify /archive && operator topics\noperator salvage\n',
  migrated: 'kubectl -n makerbook wait --for=condition=complete job/migrate --timeout=30m',
  resume: 'operator makers cancel-only off',
  runbooks: [
    `operator makers add ${maker} ${maker} --by ann`,
    `operator makers suspend ${maker} --by ann --reason 'key reported leaked'`,
    `operator makers set ${maker} --by ann --open-orders 5000 --orders-per-second 200 --burst 2000`,
    "operator makers cancel-only on --by ann --reason 'the node is suspect'",
    'operator makers cancel-only off --by ann',
    'operator makers list',
    'readyz ingress',
    'logs ingress --since=10m',
  ].join('\n'),
};

test('small is installed, released, compared and taken away by the commands of deploy/k8s/README.md', () => {
  const { functions, ...plan } = planCheck('small', places);
  expect(functions).toContain('release() {');
  expect(plan).toEqual({
    install: [
      'kubectl apply -f deploy/k8s/base/namespace.yaml',
      'deploy/k8s/make-secrets.sh small',
      'kubectl -n makerbook delete job migrate topics --ignore-not-found && kubectl apply -k /a',
      WAIT,
    ].join('\n'),
    release: `release /b\n${WAIT}`,
    rollBack: `release /a\n${WAIT}`,
    diff: 'kubectl diff -k /a -l app.kubernetes.io/component!=release',
    uninstall: 'kubectl delete namespace makerbook',
    ...shared,
  });
});

test('production is installed as small, with its own secrets', () => {
  const { install, ...plan } = planCheck('production', places);
  const { install: ofSmall, ...small } = planCheck('small', places);
  expect(install).toBe(ofSmall.replace('make-secrets.sh small', 'make-secrets.sh production'));
  expect(plan).toEqual(small);
});

test('the chart by those of deploy/helm/README.md', () => {
  const { functions: _, ...plan } = planCheck('chart', places);
  const helm = (values: string) =>
    `helm upgrade --install makerbook /c -n makerbook -f /c/values-small.yaml -f ${values} --timeout 15m\n${WAIT}`;
  expect(plan).toEqual({
    install: [
      'npm run chart -- /c',
      'kubectl apply -f deploy/k8s/base/namespace.yaml',
      'deploy/k8s/make-secrets.sh small',
      helm('/v'),
    ].join('\n'),
    release: helm('/w'),
    rollBack: helm('/v'),
    diff: undefined,
    uninstall: [
      'helm uninstall makerbook -n makerbook',
      'kubectl -n makerbook delete job migrate topics --ignore-not-found',
      'kubectl delete namespace makerbook',
    ].join('\n'),
    ...shared,
  });
});

const manifests = findRenderer() === undefined ? [] : renderOverlay('small');
const testIfRenderer = manifests.length === 0 ? test.skip : test;

testIfRenderer('the chart is given the images of the overlay', () => {
  const { registry, tag } = chartImages('localhost/makerbook', '0.1.0');
  const ours = readPods(manifests).filter(isOurs);
  expect(ours.map(({ spec }) => spec.containers[0]?.image)).toContain(`${registry}/ingress:${tag}`);
});

testIfRenderer('small and a release of it fit into the cores that are asked for', () => {
  const atOnce = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
  const cores = readPods(atOnce).map(({ owner, spec }) => {
    const own = manifests.find((manifest) => nameOf(manifest) === owner)?.spec ?? {};
    const { replicas = 1, strategy } = own as { replicas?: number; strategy?: { rollingUpdate: { maxSurge: number } } };
    const ofPod = spec.containers.map(({ resources }) => readCores(resources?.requests?.['cpu'] ?? '0'));
    return (replicas + (strategy?.rollingUpdate.maxSurge ?? 0)) * ofPod.reduce((sum, each) => sum + each);
  });
  const sum = cores.reduce((all, each) => all + each);
  expect(sum).toBeGreaterThan(CORES_MIN - 1);
  expect(sum).toBeLessThanOrEqual(CORES_MIN);
});

test('what the cluster lacks is told before anything is made, and a namespace that is there is left alone', async () => {
  const answers: Record<string, string> = {
    'kubectl version -o json': '{"serverVersion":{"minor":"36"}}',
    'kubectl get namespace makerbook --ignore-not-found -o name': 'namespace/makerbook\n',
    "kubectl get nodes -o jsonpath='{.items[*].metadata.name}'": 'one',
    'kubectl get storageclass -o name': '',
    "kubectl get nodes -o jsonpath='{.items[*].status.allocatable.cpu}'": '1900m 1',
  };
  const run = async (command: string) => {
    const stdout = command.includes('topology') ? '\n' : answers[command];
    return { status: stdout === undefined ? 1 : 0, stdout: stdout ?? '', stderr: '' };
  };
  expect(await findLacks(run, 'small')).toEqual({
    needed: ['the namespace makerbook is there, and is never touched: take another cluster'],
    missing: [
      'a second node: no drain, no spread',
      'a second zone: none is lost',
      'cores: pods ask for 5, nodes have 2.9',
      'a metrics API: no HPA',
      'a StorageClass: no archive of the log',
    ],
    nodes: ['one'],
    hasStorage: false,
  });
  const ofProduction = await findLacks(
    async (command) =>
      command === 'kubectl get crd -o name'
        ? { status: 0, stdout: 'customresourcedefinition.apiextensions.k8s.io/scaledobjects.keda.sh\n', stderr: '' }
        : run(command),
    'production',
  );
  expect(ofProduction.needed).toEqual([
    'CloudNativePG is needed, which runs Postgres',
    'volume snapshots are needed for the backups of Postgres',
    expect.stringContaining('the namespace makerbook is there'),
  ]);
  expect(ofProduction.missing).toEqual(expect.arrayContaining(['Strimzi', 'Envoy Gateway', 'the Prometheus operator']));
  expect(ofProduction.missing).not.toContain('KEDA');
  const away = async () => ({ status: 1, stdout: '', stderr: 'refused' });
  const needed = ['KUBECONFIG names no cluster that answers'];
  expect(await findLacks(away, 'small')).toEqual({ needed, missing: [], nodes: [], hasStorage: false });
});
