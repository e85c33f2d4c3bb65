import { expect, test } from '@jest/globals';
import { describeOverlays } from '../testing/describe-overlays.js';

describeOverlays((manifests, overlay) => {
  const kinds = ['PrometheusRule', 'ServiceMonitor', 'PodMonitor'];
  const read = manifests.filter(
    ({ kind, metadata }) => kinds.includes(kind) || metadata.labels?.['grafana_dashboard'] === '1',
  );

  test('everything that the Prometheus operator and Grafana read has the same release label', () => {
    if (overlay !== 'small') expect(new Set(read.map(({ kind }) => kind))).toEqual(new Set([...kinds, 'ConfigMap']));
    const labels = read.map(({ metadata }) => metadata.labels?.['release']);
    expect(labels).not.toContain(undefined);
    expect(new Set(labels).size).toBeLessThanOrEqual(1);
  });
});
