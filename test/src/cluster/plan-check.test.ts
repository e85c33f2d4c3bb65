import { expect, test } from '@jest/globals';
import { findRenderer, isOurs, nameOf, readPods, renderOverlay } from '@makerbook/deploy-checks';
import { CORES_MIN, findLacks, readCores } from './find-lacks.js';
import { chartImages, planCheck } from './plan-check.js';

const places = { overlay: '/a', nextOverlay: '/b', chart: '/c', values: '/v', nextValues: '/w' };
const WAIT = 'kubectl -n makerbook rollout status deploy -l app.kubernetes.io/part-of=makerbook --timeout=900s';

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
  });
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
    'kubectl get nodes -o name': 'node/one\n',
    'kubectl get storageclass -o name': '',
    "kubectl get nodes -o jsonpath='{.items[*].status.allocatable.cpu}'": '1900m 1',
  };
  const run = async (command: string) => {
    const stdout = command.includes('topology') ? '\n' : answers[command];
    return { status: stdout === undefined ? 1 : 0, stdout: stdout ?? '', stderr: '' };
  };
  expect(await findLacks(run)).toEqual({
    needed: ['the namespace makerbook is there, and is never touched: take another cluster'],
    missing: [
      'a second node: no drain, no spread',
      'a second zone: none is lost',
      'cores: pods ask for 5, nodes have 2.9',
      'a metrics API: no HPA',
      'a StorageClass: no production',
    ],
  });
  const away = async () => ({ status: 1, stdout: '', stderr: 'refused' });
  expect(await findLacks(away)).toEqual({ needed: ['KUBECONFIG names no cluster that answers'], missing: [] });
});
