import { type Alert, duration, type Window } from './alert.js';
import { causeAlerts } from './causes.js';
import { burnRates, type Objective, objectives, recordOf, windowsSeconds } from './objectives.js';

export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface AlertingRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<'summary' | 'runbook_url', string>>;
}

export interface RuleGroup {
  readonly name: string;
  readonly interval?: string;
  readonly rules: readonly (RecordingRule | AlertingRule)[];
}

export interface RulesOptions {
  /** How many times shorter than in production all times are, for a rehearsal. */
  readonly faster?: number;
}

/** A window needs some scrapes, and nodes that fail are asked again within half a minute. */
const WINDOW_SECONDS_MIN = 60;
const INSTANT = 'slo:error_ratio:now';

/** All groups of rules, as a rules file and a PrometheusRule hold them. */
export function buildRules({ faster = 1 }: RulesOptions = {}): RuleGroup[] {
  const window: Window = (seconds) =>
    faster === 1 ? duration(seconds) : duration(Math.max(WINDOW_SECONDS_MIN, Math.ceil(seconds / faster)));
  const interval = faster === 1 ? {} : { interval: '1s' };
  return [
    { name: 'makerbook-objectives', ...interval, rules: objectives.flatMap((each) => recordErrors(each, window)) },
    { name: 'makerbook-burn-rates', ...interval, rules: objectives.flatMap(alertOnBurnRates) },
    {
      name: 'makerbook-causes',
      ...interval,
      rules: causeAlerts(window).map((alert) => ruleOf(alert, Math.ceil(alert.forSeconds / faster))),
    },
  ];
}

function recordErrors({ slo, target, errors }: Objective, window: Window): RecordingRule[] {
  const labels = { slo };
  const over =
    'over' in errors ? errors.over : (length: string) => `avg_over_time(${INSTANT}{slo="${slo}"}[${length}])`;
  return [
    { record: 'slo:error_budget:ratio', expr: `vector(${budgetOf(target)})`, labels },
    ...('now' in errors ? [{ record: INSTANT, expr: errors.now, labels }] : []),
    ...windowsSeconds.map((seconds) => ({ record: recordOf(seconds, duration), expr: over(window(seconds)), labels })),
  ];
}

function alertOnBurnRates({ slo, alert, promise, target }: Objective): AlertingRule[] {
  return (['page', 'ticket'] as const).map((severity) => {
    const pairs = burnRates.filter((rate) => rate.severity === severity);
    const isBeyond = (seconds: number, factor: number) =>
      `${recordOf(seconds, duration)}{slo="${slo}"} > ${round(factor * budgetOf(target))}`;
    return {
      alert,
      expr: pairs
        .map(
          ({ factor, longSeconds, shortSeconds }) =>
            `(${isBeyond(longSeconds, factor)} and ${isBeyond(shortSeconds, factor)})`,
        )
        .join(' or '),
      labels: { severity },
      annotations: {
        summary: `The error budget of ${slo} is spent ${severity === 'page' ? 'at least six times' : 'too'} fast: ${promise}`,
        runbook_url: runbookOf(alert),
      },
    };
  });
}

function ruleOf({ name, severity, expr, summary }: Alert, forSeconds: number): AlertingRule {
  return {
    alert: name,
    expr,
    ...(forSeconds > 0 ? { for: duration(forSeconds) } : {}),
    labels: { severity },
    annotations: { summary, runbook_url: runbookOf(name) },
  };
}

/** Where the runbook is, from the repository's root: the anchor that a heading gets. */
export function runbookOf(alert: string): string {
  return `deploy/runbooks/alerts.md#${alert.toLowerCase()}`;
}

function budgetOf(target: number): number {
  return round(1 - target);
}

function round(value: number): number {
  return Number(value.toPrecision(6));
}
