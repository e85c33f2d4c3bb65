import { expect, test } from '@jest/globals';
import { listPanelQueries } from './list-queries.js';
import { type Dashboard, readDashboards } from './read-dashboards.js';
import { findUnknown, readMetrics, readSharedMetrics } from './read-metrics.js';
import { readRules } from './read-rules.js';
import { parsePromql } from './testing/parse-promql.js';

const dashboards = readDashboards();

const objectives = readRules()
  .flatMap(({ rules }) => rules)
  .flatMap((rule) =>
    'record' in rule && rule.record === 'slo:error_budget:ratio' ? (rule.labels?.['slo'] ?? []) : [],
  );

const metricsOn = (dashboard: Dashboard) =>
  listPanelQueries(dashboard)
    .flatMap(({ expr }) => [...parsePromql(expr)])
    .flatMap((name) => [name, name.replace(/_(bucket|count|sum)$/, '')]);

test.each(dashboards.flatMap(listPanelQueries).map(({ of, expr }) => [of, expr]))(
  '%s asks only for metrics that exist',
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

test('the overview begins with every objective, and links to the other dashboards', () => {
  const overview = dashboards.find(({ uid }) => uid === 'makerbook-overview');
  const [, ...panels] = overview?.panels ?? [];
  const first = panels.slice(
    0,
    panels.findIndex(({ type }) => type === 'row'),
  );
  const shown = first.flatMap(({ targets = [] }) =>
    targets.flatMap(({ expr }) => /slo=~"([^"]+)"/.exec(expr)?.[1] ?? []),
  );
  expect(shown.flatMap((names) => names.split('|')).sort()).toEqual(objectives.sort());
  const urls = dashboards.map(({ uid }) => `/d/${uid}`);
  for (const { links = [] } of first) for (const { url } of links) expect(urls).toContain(url);
  for (const { uid, links, tags } of dashboards) {
    expect([uid, tags]).toEqual([uid, expect.arrayContaining(['makerbook'])]);
    expect([uid, links]).toEqual([uid, [expect.objectContaining({ type: 'dashboards', tags: ['makerbook'] })]]);
  }
});
