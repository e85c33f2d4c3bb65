import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { nameOf, readText, root } from './read-manifests.js';
import { readPods } from './read-pods.js';
import { describeOverlays } from './testing/describe-overlays.js';

describeOverlays((manifests) => {
  const jobs = manifests.filter(({ kind }) => kind === 'Job');

  test('a Job is created again for another release, and stays as it is for the same one', () => {
    expect(jobs.map(({ metadata }) => metadata.name)).toContain('migrate');
    for (const { metadata, spec } of jobs) {
      expect(metadata.annotations).toMatchObject({
        'argocd.argoproj.io/hook': 'Sync',
        'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
        'kustomize.toolkit.fluxcd.io/force': 'Enabled',
        'helm.sh/hook': 'post-install,post-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation',
      });
      expect(spec).not.toHaveProperty('ttlSecondsAfterFinished');
    }
  });

  test('`kubectl diff` of a release leaves out only its Jobs, because they cannot be changed', () => {
    const label = /-l app\.kubernetes\.io\/component!=(\w+)/.exec(readText('deploy/k8s/README.md'))?.[1];
    const left = manifests.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === label);
    expect(left).toEqual(jobs);
  });

  test('a Deployment names the type of its strategy, so that no apply reports it as changed', () => {
    for (const { kind, metadata, spec } of manifests.filter((manifest) => manifest.kind === 'Deployment'))
      expect([kind, metadata.name, spec]).toEqual([
        kind,
        metadata.name,
        expect.objectContaining({
          strategy: expect.objectContaining({ type: expect.stringMatching(/^(RollingUpdate|Recreate)$/) }),
        }),
      ]);
  });

  // A release must not undo what an autoscaler has scaled up, nor start what a runbook has stopped.
  test('a Deployment says how many replicas it has, unless an autoscaler does', () => {
    for (const { metadata, spec } of manifests.filter(({ kind }) => kind === 'Deployment')) {
      const { name } = metadata;
      const scalers = [`HorizontalPodAutoscaler ${name}`, `ScaledObject ${name}`];
      const isScaled = manifests.some((manifest) => scalers.includes(nameOf(manifest)));
      expect([name, spec?.['replicas'] !== undefined]).toEqual([name, !isScaled]);
    }
  });

  test('the program of `operator verify` and `rebuild` is in the image that its Job runs', () => {
    const { spec } = readPods(manifests).find(({ owner }) => owner === 'CronJob replay') ?? {};
    const [container] = spec?.containers ?? [];
    const program = (container?.['command'] as string[] | undefined)?.at(-1) ?? '';
    expect(container?.image).toContain('/makerbook/projector');
    expect(existsSync(program.replace(/^\/app\//, root))).toBe(true);
    const entry = JSON.stringify(container?.['command']).replaceAll(',', ', ').replace('rebuild/', '');
    expect(readText('deploy/docker/Dockerfile')).toContain(`ENTRYPOINT ${entry}`);
  });

  test('Jobs come after what they need, services after the Jobs, autoscalers after the services', () => {
    const scalers = { HorizontalPodAutoscaler: 3, ScaledObject: 3 };
    // A claim may stay Pending until its pod exists, if its storage class waits for the pod.
    const waves: Record<string, number> = { Job: 1, Deployment: 2, PersistentVolumeClaim: 2, ...scalers };
    for (const { kind, metadata } of manifests) {
      const wave = Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
      expect({ kind, wave }).toEqual({ kind, wave: waves[kind] ?? 0 });
    }
  });
});

test.each(['book', 'client'])('the README of @makerbook/%s says how to install it, as it is in no registry', (name) => {
  const readme = readText(`shared/${name}/README.md`);
  expect(readme).toContain('npm run packages');
  expect(readme).toContain(`npm install ./.local/packages/makerbook-${name}-`);
});
