import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findRenderer, type Manifest, nameOf, parseManifests, readPods, renderOverlay } from '@makerbook/deploy-checks';
import { stringify } from 'yaml';
import { makeChart, type Profile, profiles } from './make-chart.js';
import { fetchHelm, runHelm } from './testing/run-helm.js';

const hasRenderer = findRenderer() !== undefined;
if (!hasRenderer) console.warn('SKIPPED: the checks of the chart. They need kubectl or kustomize on the PATH.');
const chart = mkdtempSync(join(tmpdir(), 'makerbook-chart-'));
afterAll(() => rmSync(chart, { recursive: true, force: true }));

const hooks: string[] = [];
let jars = '';
beforeAll(async () => {
  if (!hasRenderer) return;
  jars = await fetchHelm();
  for (const [file, content] of makeChart('0.1.0')) {
    mkdirSync(dirname(join(chart, file)), { recursive: true });
    // The library renders no hooks. The Jobs are hooks, so remove the annotations that make them hooks.
    if (/^ {4}helm\.sh\/hook: /m.test(content)) hooks.push(file);
    writeFileSync(join(chart, file), content.replaceAll(/^ {4}helm\.sh\/.*\n/gm, ''));
  }
});

/** Renders a profile with Helm. `values` override its own. @throws Error with Helm's message if Helm refuses */
function render(profile: Profile, values: object = {}): Manifest[] {
  const own = join(chart, 'own.yaml');
  writeFileSync(own, stringify(values));
  const files = [...(profile === 'small' ? [join(chart, 'values-small.yaml')] : []), own];
  const { isGood, output } = runHelm(jars, ['template', chart, ...files]);
  if (!isGood) throw new Error(output);
  return parseManifests(output).filter((manifest) => manifest !== null);
}

/** Keys manifests by name, without the intended differences: the fixed name of the settings, and their checksum. */
function byName(manifests: readonly Manifest[]): Record<string, unknown> {
  const isOwn = (key: string, value: unknown) =>
    key.startsWith('helm.sh/') ||
    (key === 'annotations' && Object.keys(value as object).join() === 'checksum/settings');
  const text = JSON.stringify(manifests, (key, value: unknown) => (isOwn(key, value) ? undefined : value)).replaceAll(
    /"settings-[a-z0-9]{10}"/g,
    '"settings"',
  );
  return Object.fromEntries((JSON.parse(text) as Manifest[]).map((manifest) => [nameOf(manifest), manifest]));
}

const describeChart = hasRenderer ? describe : describe.skip;

describeChart('the chart', () => {
  test('passes helm lint', () => {
    expect(runHelm(jars, ['lint', chart])).toMatchObject({ isGood: true });
  });

  test.each(profiles)('renders to the overlay %s, except for the namespace', (profile) => {
    const overlay = renderOverlay(profile).filter(({ kind }) => kind !== 'Namespace');
    expect(byName(render(profile))).toEqual(byName(overlay));
    const jobs = overlay.filter(({ kind }) => kind === 'Job').map(({ metadata }) => metadata.name);
    expect(hooks).toEqual(expect.arrayContaining(jobs.map((job) => `templates/${profile}/job-${job}.yaml`)));
  });

  test('puts what a user sets for a service into its pods only', () => {
    const own = {
      replicas: 5,
      resources: { limits: { memory: '9Gi' } },
      affinity: { nodeAffinity: {} },
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'spot', operator: 'Exists' }],
      podAnnotations: { team: 'orders' },
      serviceAccount: 'given',
      extraEnv: [{ name: 'LOG_LEVEL', value: 'debug' }],
      extraVolumes: [{ name: 'ca', secret: { secretName: 'ca' } }],
      extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
    };
    const made = render('small', { services: { ingress: own }, images: { pullSecrets: [{ name: 'pull' }] } });
    const find = (name: string) => made.find((manifest) => nameOf(manifest) === `Deployment ${name}`);
    const podOf = (name: string) => readPods(made).find(({ owner }) => owner === `Deployment ${name}`)?.spec;
    const {
      replicas,
      resources,
      podAnnotations: _,
      serviceAccount,
      extraEnv,
      extraVolumes,
      extraVolumeMounts,
      ...pod
    } = own;
    expect(find('ingress')?.spec).toMatchObject({
      replicas,
      template: { metadata: { annotations: { team: 'orders' } } },
    });
    expect(podOf('ingress')).toMatchObject({ ...pod, serviceAccountName: serviceAccount });
    expect(podOf('ingress')?.['imagePullSecrets']).toEqual([{ name: 'pull' }]);
    const [container] = podOf('ingress')?.containers ?? [];
    expect(container).toMatchObject({ resources: { limits: { memory: '9Gi' } } });
    expect(container?.env).toEqual(expect.arrayContaining(extraEnv));
    expect(container?.volumeMounts).toEqual(expect.arrayContaining(extraVolumeMounts));
    expect(podOf('ingress')?.volumes).toEqual(expect.arrayContaining(extraVolumes));
    expect(JSON.stringify(podOf('query'))).not.toMatch(/9Gi|fast|spot|debug|"ca"/);
  });

  test('puts what a user adds for the operator into all of its pods', () => {
    const ca = { name: 'ca', mountPath: '/ca' };
    const operator = {
      extraEnv: [{ name: 'LOG_LEVEL', value: 'debug' }],
      extraVolumes: [{ name: 'ca', secret: { secretName: 'ca' } }],
      extraVolumeMounts: [ca],
    };
    const pods = readPods(render('small', { operator })).filter(({ owner }) => /^(Cron)?Job /.test(owner));
    expect(pods.map(({ owner }) => owner)).toEqual(expect.arrayContaining(['Job migrate', 'Job topics']));
    for (const { spec } of pods) {
      const [container] = spec.containers;
      expect(spec.volumes).toEqual(expect.arrayContaining(operator.extraVolumes));
      expect(container?.volumeMounts).toEqual(expect.arrayContaining([ca]));
      expect(container?.env).toEqual(expect.arrayContaining(operator.extraEnv));
    }
  });

  test.each([
    ['small', 'gateway', 'Deployment gateway'],
    ['production', 'redis', 'StatefulSet redis'],
  ] as const)('puts what a user sets into the part of %s that is not ours: %s', (profile, part, wanted) => {
    const own = { resources: { limits: { memory: '9Gi' } }, nodeSelector: { disk: 'fast' } };
    const made = render(profile, { services: { [part]: { ...own, podAnnotations: { team: 'orders' } } } });
    const pod = readPods(made).find(({ owner }) => owner === wanted)?.spec;
    expect(pod).toMatchObject({ nodeSelector: own.nodeSelector, containers: [{ resources: own.resources }] });
    expect(JSON.stringify(made).match(/"team":"orders"/g)).toHaveLength(1);
  });

  test('takes the names of Secrets, namespaces, images, accounts and the host from the values', () => {
    const made = render('production', {
      images: { registry: 'hub.example.com', digests: { ingress: `sha256:${'a'.repeat(64)}` }, tag: '9' },
      secrets: { 'quote-signer': 'vault-quotes', 'gateway-certificate': 'wildcard' },
      namespaces: { metrics: 'observability' },
      gateway: { className: 'internal', host: 'orders.example.org' },
      serviceAccounts: { create: false },
      settings: { SERVICE_NAME: 'Other' },
    });
    const text = JSON.stringify(made);
    expect(text).toContain(`"hub.example.com/ingress@sha256:${'a'.repeat(64)}"`);
    expect(text).toContain('"hub.example.com/query:9"');
    const wanted = ['"vault-quotes"', '"wildcard"', '"observability"', '"internal"', '"orders.example.org"', '"Other"'];
    const gone = [
      '"secretName":"quote-signer"',
      '"gateway-certificate"',
      'metadata.name":"monitoring"',
      'registry.example.com',
      '"Makerbook"',
    ];
    expect(wanted.filter((word) => !text.includes(word))).toEqual([]);
    expect(gone.filter((word) => text.includes(word))).toEqual([]);
    expect(made.filter(({ kind }) => kind === 'ServiceAccount')).toEqual([]);
    const sums = (manifests: readonly Manifest[]) =>
      /"checksum\/settings":"[^"]+"/.exec(JSON.stringify(manifests))?.[0];
    expect(sums(made)).not.toBe(sums(render('production')));
  });

  test('rules ask about the namespace of the release', () => {
    const rules = readFileSync(join(chart, 'templates/production/prometheusrule-causes.yaml'), 'utf8');
    const namespaces = [...rules.matchAll(/namespace=\\?"([^"\\]+)/g)].map(([, name]) => name);
    expect(new Set(namespaces)).toEqual(new Set(['{{ .Release.Namespace }}']));
  });

  test('has no autoscalers or monitors if they are off, and takes the replicas from the values', () => {
    const made = render('production', { autoscaling: { enabled: false }, monitoring: { enabled: false } });
    const kinds = new Set(made.map(({ kind }) => kind));
    for (const kind of ['HorizontalPodAutoscaler', 'ScaledObject', 'PrometheusRule', 'PodMonitor', 'ServiceMonitor'])
      expect([kind, kinds.has(kind)]).toEqual([kind, false]);
    const deployment = made.find((manifest) => nameOf(manifest) === 'Deployment ingress');
    expect(deployment?.spec?.['replicas']).toBe(2);
  });

  test.each([
    ['a name that the chart does not have', { services: { ingress: { ressources: {} } } }, 'ressources'],
    ['a service that there is not', { services: { 'chain-watcher': { replicas: 3 } } }, 'chain-watcher'],
    ['a value of another type', { services: { ingress: { replicas: 'two' } } }, 'replicas'],
    ['a digest that is none', { images: { digests: { ingress: 'latest' } } }, 'digests'],
    ['a profile that is none', { profile: 'large' }, 'profile'],
  ])('refuses %s, and names it', (_, values, name) => {
    const refusal = new RegExp(`values don't meet the specifications of the schema.*${name}`, 's');
    expect(() => render('production', values)).toThrow(refusal);
  });
});
