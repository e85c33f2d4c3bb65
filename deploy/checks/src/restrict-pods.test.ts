import { expect, test } from '@jest/globals';
import { fieldOf, type Manifest, nameOf } from './read-manifests.js';
import { isOurs, readPods } from './read-pods.js';
import { describeOverlays } from './testing/describe-overlays.js';
import { expectReadOnly, expectRestricted } from './testing/expect-restricted.js';
import { makeSecrets } from './testing/make-secrets.js';

/** Secrets that the operators of Strimzi and CloudNativePG make. */
const madeByOperators =
  /^(kafka-(cluster-ca-cert|ingress|query|feed|chain-watcher|projector|operator|reader|keda)|postgres-(ca|app))$/;

describeOverlays((manifests, overlay) => {
  const made = new Set([...makeSecrets(overlay).keys()].map((file) => file.split('/')[0]));
  const pods = readPods(manifests);

  test.each(pods)(
    '$owner passes the restricted Pod Security Standard, and cannot write to its file system',
    ({ spec }) => {
      expectRestricted(spec);
      expectReadOnly(spec);
      expect(spec.automountServiceAccountToken).toBe(false);
      for (const { resources } of spec.containers) {
        expect(resources?.limits?.['memory']).toBeDefined();
        expect(resources?.requests).toMatchObject({ cpu: expect.any(String), memory: resources?.limits?.['memory'] });
      }
    },
  );

  test.each(pods.filter(isOurs))('$owner sets NODE_OPTIONS unless it has only 192 MiB of memory', ({ spec }) => {
    const large = spec.containers.filter(({ image = '', resources }) => {
      return image.startsWith('makerbook/') && resources?.limits?.['memory'] !== '192Mi';
    });
    for (const { env } of large) expect(env).toContainEqual(expect.objectContaining({ name: 'NODE_OPTIONS' }));
  });

  test('the namespace refuses a pod that is not restricted, and warns whoever applies it', () => {
    const [namespace] = manifests.filter(({ kind }) => kind === 'Namespace');
    for (const mode of ['enforce', 'warn'])
      expect(namespace?.metadata.labels).toHaveProperty([`pod-security.kubernetes.io/${mode}`], 'restricted');
  });

  const services = pods.filter((pod) => isOurs(pod) && pod.owner.startsWith('Deployment'));
  test.each(services)('$owner has probes, and time to stop', ({ spec }) => {
    const probe = (path: string) => ({ httpGet: { path, port: 'ops' } });
    for (const container of spec.containers) {
      const [live, ready] = [probe('/livez'), probe('/readyz')];
      expect(container).toMatchObject({ startupProbe: live, livenessProbe: live, readinessProbe: ready });
    }
    // A service takes up to 20 s to end, after the 8 s of the gateway.
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(28);
  });

  test.each(services)('$owner waits for each of its Secrets, as none is optional', ({ spec }) => {
    expect(JSON.stringify(spec.volumes ?? [])).not.toContain('"optional":true');
  });

  test('every reference leads to something that exists', () => {
    const has = (kind: string, name: string) =>
      manifests.some((manifest) => manifest.kind === kind && manifest.metadata.name === name);
    const text = JSON.stringify(pods);
    const names = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name ?? '');
    for (const name of names(/"serviceAccountName":"([^"]+)"/g))
      expect([name, has('ServiceAccount', name)]).toEqual([name, true]);
    for (const name of names(/"(?:configMapRef|configMap)":\{"name":"([^"]+)"/g))
      expect([name, has('ConfigMap', name)]).toEqual([name, true]);
    for (const name of names(/"secretName":"([^"]+)"|"secretKeyRef":\{"key":"[^"]+","name":"([^"]+)"/g))
      if (name !== '') expect([name, made.has(name) || madeByOperators.test(name)]).toEqual([name, true]);
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  test('every selector selects a pod', () => {
    const selects = (labels: Record<string, string>) =>
      pods.some((pod) => Object.entries(labels).every(([key, value]) => pod.labels[key] === value));
    for (const manifest of manifests) {
      const labels = selectorOf(manifest);
      if (labels !== undefined) expect([nameOf(manifest), selects(labels)]).toEqual([nameOf(manifest), true]);
    }
  });

  test('only what a policy allows comes in or goes out', () => {
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
    expect(policies.map(({ spec }) => spec)).toContainEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    const openToAll = policies.filter(({ spec }) =>
      ((spec?.['ingress'] ?? []) as { from?: unknown[] }[]).some(({ from }) => from === undefined),
    );
    expect(openToAll).toEqual([]);
  });

  test('each service has an account of its own', () => {
    const accounts = pods.filter(isOurs).map(({ service, spec }) => [service, spec.serviceAccountName]);
    for (const [service, account] of accounts) expect(account).toBe(service);
    for (const manifest of manifests.filter(({ kind }) => kind === 'ServiceAccount'))
      expect(manifest).toMatchObject({ automountServiceAccountToken: false });
  });
});

function selectorOf(manifest: Manifest): Record<string, string> | undefined {
  if (manifest.kind === 'Service') return fieldOf(manifest, 'selector');
  if (['Deployment', 'StatefulSet', 'PodDisruptionBudget'].includes(manifest.kind))
    return fieldOf<{ matchLabels: Record<string, string> }>(manifest, 'selector').matchLabels;
  return undefined;
}
