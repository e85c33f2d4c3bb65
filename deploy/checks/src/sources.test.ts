import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { nameOf, readText, root } from './read-manifests.js';
import { readOperatedPods } from './read-operated-pods.js';
import { type PodSpec, readPods } from './read-pods.js';
import { listFiles, readKustomizations, readSources } from './read-sources.js';
import { expectReadOnly, expectRestricted } from './testing/expect-restricted.js';
import { validateManifest } from './validate-manifest.js';

// These tests do without kustomize. The other tests of this folder render the overlays.
const kustomizations = readKustomizations();
const sources = readSources();
const everyPod = parse(readText('deploy/k8s/base/patches/pods.yaml')) as {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
};

test('every file that a kustomization names exists, and every file is named by one', () => {
  const named = kustomizations.flatMap((each) => [`${each.folder}/kustomization.yaml`, ...listFiles(each)]);
  expect(named.filter((file) => !existsSync(root + file))).toEqual([]);
  const files = ['deploy/k8s', 'deploy/observability'].flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  );
  const ofNoUse = files.filter((file) => /(?<!\.test)\.(yaml|json|conf)$/.test(file) && !named.includes(file));
  expect(ofNoUse).toEqual([]);
});

test.each(sources.map((source) => ({ name: nameOf(source), source })))(
  '$name matches the schema of its kind and version, and has no field beyond it',
  async ({ source }) => expect(await validateManifest(source)).toEqual([]),
);

test('no Secret is in the repository', () => {
  expect(sources.filter(({ kind }) => kind === 'Secret')).toEqual([]);
});

test('the patch for pods applies to every Deployment and Job', () => {
  const patch = kustomizations
    .find(({ folder }) => folder === 'deploy/k8s/base')
    ?.patches.find(({ path }) => path === 'patches/pods.yaml');
  expect(patch?.target).toEqual({ kind: '(Deployment|Job)' });
});

test.each(readPods(sources))('$owner is restricted, by itself or by the patch for pods', ({ owner, spec }) => {
  const merged = /^(Deployment|Job) /.test(owner) ? mergePod(spec) : spec;
  expectRestricted(merged);
  expectReadOnly(merged);
});

test.each(readOperatedPods(sources))('the pods of $owner are restricted', ({ spec }) => expectRestricted(spec));

test('CloudNativePG makes restricted pods for a Cluster, because the Cluster does not override that', () => {
  const [cluster] = sources.filter(({ kind }) => kind === 'Cluster');
  const fields = Object.keys(cluster?.spec ?? {});
  expect(fields).toContain('instances');
  expect(fields.filter((field) => /seccomp|securityContext/i.test(field))).toEqual([]);
});

test('every kind of object that makes pods is checked', () => {
  const checked = ['Deployment', 'StatefulSet', 'Job', 'CronJob', 'Kafka', 'KafkaNodePool'];
  const restrictedByOperator = ['Cluster', 'EnvoyProxy'];
  const ofNoPod =
    /^(Namespace|ConfigMap|ServiceAccount|Service|.+(Policy|Route|Budget|Autoscaler|Topic|User|Rule|Monitor)|Gateway|ScheduledBackup|PersistentVolumeClaim|ScaledObject|TriggerAuthentication)$/;
  const kinds = [...new Set(sources.map(({ kind }) => kind))];
  const unknown = kinds.filter((kind) => ![...checked, ...restrictedByOperator].includes(kind) && !ofNoPod.test(kind));
  expect(unknown).toEqual([]);
});

/** Does the part of a strategic merge that matters for security: the fields of the pod and of its container. */
function mergePod(spec: PodSpec): PodSpec {
  const patch = everyPod.spec.template.spec;
  return {
    ...spec,
    ...patch,
    containers: spec.containers.map((container) => ({
      ...container,
      ...patch.containers.find(({ name }) => name === container.name),
    })),
  };
}
