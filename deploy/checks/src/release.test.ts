import { expect, test } from '@jest/globals';
import type { Manifest } from './read-manifests.js';
import { describeOverlays } from './testing/describe-overlays.js';

const wave = ({ metadata }: Manifest) => Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);

describeOverlays((manifests) => {
  const ofKind = (...kinds: string[]) => manifests.filter(({ kind }) => kinds.includes(kind));
  const jobs = ofKind('Job');

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
    const order = [
      ofKind(
        'Namespace',
        'ServiceAccount',
        'ConfigMap',
        'NetworkPolicy',
        'Kafka',
        'KafkaTopic',
        'KafkaUser',
        'Cluster',
      ),
      jobs,
      ofKind('Deployment'),
      ofKind('HorizontalPodAutoscaler', 'ScaledObject'),
    ];
    expect(order.map((group) => [...new Set(group.map(wave))]).filter((waves) => waves.length > 0)).toEqual(
      [[0], [1], [2], [3]].slice(0, order.filter((group) => group.length > 0).length),
    );
  });
});
