import { expect, test } from '@jest/globals';
import { dashboards, listQueries } from '../list-queries.js';
import { findUnknown, readMetrics, readSharedMetrics } from '../read-metrics.js';
import { parsePromql } from '../testing/parse-promql.js';
import { buildDashboard } from './build-dashboard.js';

const read = (expr: string) => [...parsePromql(expr)].map((name) => name.replace(/_(bucket|count|sum)$/, ''));

test.each(listQueries().map(({ of, expr }) => [of, expr]))('%s asks for metrics that there are', (_, expr) => {
  expect(findUnknown(parsePromql(expr))).toEqual([]);
});

test('every metric that several services show is on a dashboard', () => {
  const shown = new Set(
    dashboards
      .flatMap(({ rows }) => rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries)))
      .map(({ expr }) => expr.replaceAll('$__rate_interval', '1m'))
      .flatMap((expr) => [...read(expr), ...parsePromql(expr)]),
  );
  expect(readSharedMetrics().length).toBeGreaterThan(10);
  expect(readSharedMetrics().filter((name) => !shown.has(name))).toEqual([]);
});

test.each([...readMetrics()])('every metric of %s is on its dashboard', (service, metrics) => {
  const dashboard = dashboards.find(({ uid }) => uid === `makerbook-${service}`);
  const shown = new Set(
    dashboard?.rows
      .flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)))
      .flatMap((expr) => read(expr.replaceAll('$__rate_interval', '1m'))),
  );
  expect(metrics.length).toBeGreaterThan(3);
  expect(metrics.filter((name) => !shown.has(name))).toEqual([]);
});

test.each(dashboards.map((spec) => [spec.uid, spec] as const))('no panel of %s covers another', (_, spec) => {
  const { panels = [] } = buildDashboard(spec);
  const cells = panels.flatMap(({ gridPos = { x: 0, y: 0, w: 0, h: 0 } }) =>
    Array.from({ length: gridPos.w * gridPos.h }, (_, n) => {
      const x = gridPos.x + (n % gridPos.w);
      expect(x).toBeLessThan(24);
      return `${x} ${gridPos.y + Math.floor(n / gridPos.w)}`;
    }),
  );
  expect(new Set(cells).size).toBe(cells.length);
});
