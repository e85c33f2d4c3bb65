import { overview } from './dashboards/overview.js';
import { RATE } from './dashboards/panel.js';
import { processes } from './dashboards/processes.js';
import { serviceDashboards } from './dashboards/services.js';
import { buildRules } from './rules/build-rules.js';

export const dashboards = [overview, processes, ...serviceDashboards];

/** A query that Prometheus is asked. */
export interface Query {
  /** The rule, or dashboard and panel. */
  readonly of: string;
  readonly expr: string;
  /** Nothing is wrong where it has no result: that of an alert has one only while it fires. */
  readonly mayBeEmpty: boolean;
}

/** Every query of every rule and of every panel, as Prometheus takes it. */
export function listQueries(): Query[] {
  const ofRules = buildRules()
    .flatMap(({ rules }) => rules)
    .map((rule): Query => {
      return 'alert' in rule
        ? { of: rule.alert, expr: rule.expr, mayBeEmpty: true }
        : { of: rule.record, expr: rule.expr, mayBeEmpty: false };
    });
  const ofPanels = dashboards.flatMap(({ uid, rows }) =>
    rows.flatMap(({ panels }) =>
      panels.flatMap(({ title, queries }) =>
        queries.map(({ expr, mayBeEmpty = false }) => ({
          of: `${uid}, ${title}`,
          expr: expr.replaceAll(RATE, '1m'),
          mayBeEmpty,
        })),
      ),
    ),
  );
  return [...ofRules, ...ofPanels];
}
