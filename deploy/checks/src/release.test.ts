import { expect, test } from '@jest/globals';
import { describeOverlays } from './testing/describe-overlays.js';

describeOverlays((manifests) => {
  const jobs = manifests.filter(({ kind }) => kind === 'Job');

  test('a Job of a release is made anew by whoever applies it, and gone some time after its end', () => {
    expect(jobs.map(({ metadata }) => metadata.name)).toContain('migrate');
    for (const { metadata, spec } of jobs) {
      expect(metadata.annotations).toMatchObject({
        'argocd.argoproj.io/hook': 'Sync',
        'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
        'kustomize.toolkit.fluxcd.io/force': 'Enabled',
        'helm.sh/hook': 'post-install,post-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation',
      });
      expect(spec?.['ttlSecondsAfterFinished']).toEqual(expect.any(Number));
    }
  });

  test('Jobs come after what they need, services after the Jobs, autoscalers after the services', () => {
    const waves: Record<string, number> = { Job: 1, Deployment: 2, HorizontalPodAutoscaler: 3, ScaledObject: 3 };
    for (const { kind, metadata } of manifests) {
      const wave = Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
      expect({ kind, wave }).toEqual({ kind, wave: waves[kind] ?? 0 });
    }
  });
});
