import { expect, test } from '@jest/globals';
import { listPanelQueries } from './list-queries.js';
import { type Dashboard, readDashboards } from './read-dashboards.js';
import { findUnknown, readMetrics, readSharedMetrics } from './read-metrics.js';
import { parsePromql } from './testing/parse-promql.js';

const dashboards = readDashboards();

const metricsOn = (dashboard: Dashboard) =>
  listPanelQueries(dashboard)
    .flatMap(({ expr }) => [...parsePromql(expr)])
    .flatMap((name) => [name, name.replace(/_(bucket|count|sum)$/, '')]);

test.each(dashboards.flatMap(listPanelQueries).map(({ of, expr }) => [of, expr]))(
  '%s asks for metrics that there are',
  (_, expr) => {
    expect(findUnknown(parsePromql(expr))).toEqual([]);
  },
);

test('every metric that several services show is on a dashboard', () => {
  const shown = new Set(dashboards.flatMap(metricsOn));
  expect(readSharedMetrics().length).toBeGreaterThan(10);
  expect(readSharedMetrics().filter((name) => !shown.has(name))).toEqual([]);
});

test.each([...readMetrics()])('every metric of %s is on its dashboard', (service, metrics) => {
  const shown = new Set(dashboards.filter(({ uid }) => uid === `makerbook-${service}`).flatMap(metricsOn));
  expect(metrics.length).toBeGreaterThan(3);
  expect(metrics.filter((name) => !shown.has(name))).toEqual([]);
});
