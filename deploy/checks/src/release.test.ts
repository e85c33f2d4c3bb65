import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readText, root } from './read-manifests.js';
import { readPods } from './read-pods.js';
import { describeOverlays } from './testing/describe-overlays.js';

describeOverlays((manifests) => {
  const jobs = manifests.filter(({ kind }) => kind === 'Job');

  test('a Job of a release is made anew by whoever applies another one, and stays as it is for the same one', () => {
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
    const waves: Record<string, number> = { Job: 1, Deployment: 2, HorizontalPodAutoscaler: 3, ScaledObject: 3 };
    for (const { kind, metadata } of manifests) {
      const wave = Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
      expect({ kind, wave }).toEqual({ kind, wave: waves[kind] ?? 0 });
    }
  });
});
