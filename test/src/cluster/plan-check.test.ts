import { expect, test } from '@jest/globals';
import { findLacks } from './find-lacks.js';
import { planCheck } from './plan-check.js';

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

test('what the cluster lacks is told before anything is made, and a namespace that is there is left alone', async () => {
  const answers: Record<string, string> = {
    'kubectl version -o json': '{"serverVersion":{"minor":"36"}}',
    'kubectl get namespace makerbook --ignore-not-found -o name': 'namespace/makerbook\n',
    'kubectl get nodes -o name': 'node/one\n',
    'kubectl get storageclass -o name': '',
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
      'a metrics API: no HPA',
      'a StorageClass: no production',
    ],
  });
  const away = async () => ({ status: 1, stdout: '', stderr: 'refused' });
  expect(await findLacks(away)).toEqual({ needed: ['KUBECONFIG names no cluster that answers'], missing: [] });
});
