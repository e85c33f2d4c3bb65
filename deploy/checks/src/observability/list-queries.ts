import { type Dashboard, readDashboards } from './read-dashboards.js';
import { readRules } from './read-rules.js';

/** A query for Prometheus. */
export interface Query {
  /** The rule, or dashboard and panel. */
  readonly of: string;
  readonly expr: string;
  /** An alert's query has a result only while it fires. */
  readonly isAlert: boolean;
}

/** Lists the queries of all rules and panels, as Prometheus takes them. */
export function listQueries(): Query[] {
  const rules = readRules().flatMap((group) => group.rules);
  return [
    ...rules.map((rule) =>
      'alert' in rule
        ? { of: rule.alert, expr: rule.expr, isAlert: true }
        : { of: rule.record, expr: rule.expr, isAlert: false },
    ),
    ...readDashboards().flatMap(listPanelQueries),
  ];
}

/** Lists the queries of a dashboard. A window replaces Grafana's variable. */
export function listPanelQueries({ uid, panels }: Dashboard): Query[] {
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      of: `${uid}, ${title}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
      isAlert: false,
    })),
  );
}
