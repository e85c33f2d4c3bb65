import { expect, test } from '@jest/globals';
import { findRenderer, isOurs, nameOf, readPods, renderOverlay } from '@makerbook/deploy-checks';
import { CORES_MIN, findLacks, readCores } from './find-lacks.js';
import { chartImages, planCheck, profiles } from './plan-check.js';

const places = { overlay: '/a', nextOverlay: '/b', chart: '/c', values: '/v', nextValues: '/w' };

test.each(profiles)('%s: each command is found in its document, and each … in it is filled in', (profile) => {
  // Leave out the functions: their comments have a … for what an operator fills in.
  const { functions: _, ...plan } = planCheck(profile, places);
  expect(Object.values(plan).join('\n')).not.toContain('…');
  expect(plan.drain).toMatch(/^kubectl drain "\$NODE" [^$]*\nkubectl uncordon "\$NODE"\n$/);
  expect(plan.renew).toMatch(/--cert="\$NEW_CERT_FILE" --key="\$NEW_KEY_FILE"\n.*rpc-url="\$RPC_URL_FILE"/);
  expect(plan.restore).toMatch(
    /^operator log restore .* && operator log verify .* && operator topics\noperator salvage\n/,
  );
});

const manifests = findRenderer() === undefined ? [] : renderOverlay('small');
const testIfRenderer = manifests.length === 0 ? test.skip : test;

testIfRenderer('the chart is given the images of the overlay', () => {
  const { registry, tag } = chartImages('localhost/makerbook', '0.1.0');
  const ours = readPods(manifests).filter(isOurs);
  expect(ours.map(({ spec }) => spec.containers[0]?.image)).toContain(`${registry}/ingress:${tag}`);
});

testIfRenderer('small fits into the required cores, even during a release', () => {
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

test('what the cluster lacks is listed, and a cluster with the namespace already in it is refused', async () => {
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
