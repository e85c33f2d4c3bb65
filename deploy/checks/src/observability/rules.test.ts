import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readText } from '../read-manifests.js';
import { findUnknown, readMetrics } from './read-metrics.js';
import { type AlertingRule, type RecordingRule, RULES_FOLDER, readRules } from './read-rules.js';
import { parsePromql } from './testing/parse-promql.js';

const rules = readRules().flatMap((group) => group.rules);
const alerts = rules.filter((rule): rule is AlertingRule => 'alert' in rule);
const records = rules.filter((rule): rule is RecordingRule => 'record' in rule);

interface Proof {
  readonly name: string;
  readonly input_series: readonly { readonly series: string }[];
  readonly promql_expr_test: readonly { readonly expr: string; readonly exp_samples: readonly unknown[] }[];
}

const proofs = ['objectives', 'causes'].flatMap(
  (file) => (parse(readText(`${RULES_FOLDER}/${file}.test.yaml`)) as { tests: Proof[] }).tests,
);

test.each(rules.map((rule) => ['alert' in rule ? rule.alert : rule.record, rule.expr]))(
  '%s is PromQL over metrics that exist',
  (_, expr) => {
    const metrics = parsePromql(expr);
    expect(findUnknown(metrics)).toEqual([]);
    const recorded = records.map(({ record }) => record);
    expect([...metrics].filter((name) => name.startsWith('slo:') && !recorded.includes(name))).toEqual([]);
  },
);

test('an unknown metric is noticed, and so is an expression that is not PromQL', () => {
  expect(readMetrics().get('projector')).toContain('projector_feed_age_seconds');
  expect(findUnknown(parsePromql('sum(rate(projector_feed_delay_seconds_bucket[5m])) / typo_total'))).toEqual([
    'typo_total',
  ]);
  expect(() => parsePromql('sum(rate(up[5m])')).toThrow('not PromQL');
});

test('each alert has a name of its own, and a severity', () => {
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  for (const { alert, expr, labels } of alerts) {
    const severities = expr.startsWith('slo:burn_rate{')
      ? records.filter(({ record }) => record === 'slo:burn_rate').map((rule) => rule.labels?.['severity'])
      : [labels?.['severity']];
    expect([alert, severities.filter((severity) => severity !== 'page' && severity !== 'ticket')]).toEqual([alert, []]);
  }
});

test('each objective has a budget, events, bad events and an alert', () => {
  const objectives = (name: string) =>
    records.filter(({ record }) => record === name).map((rule) => rule.labels?.['slo']);
  const budgets = objectives('slo:error_budget:ratio');
  expect(objectives('slo:events')).toEqual(budgets);
  expect(objectives('slo:bad_events')).toEqual(budgets);
  const alerted = alerts.flatMap(({ expr }) => /^slo:burn_rate\{slo="([a-z-]+)"\}$/.exec(expr)?.[1] ?? []);
  expect(alerted).toEqual(budgets);
});

test.each(alerts)('$alert has proofs that it fires and stays quiet, on metrics that it reads', ({ alert, expr }) => {
  const [fires, quiet] = ['fires', 'is quiet'].map((end) => proofs.find(({ name }) => name === `${alert} ${end}`));
  for (const proof of [fires, quiet])
    expect(proof?.promql_expr_test.map((each) => each.expr).join()).toContain(`alertname="${alert}"`);
  expect(fires?.promql_expr_test.flatMap((each) => each.exp_samples)).not.toEqual([]);
  expect(quiet?.promql_expr_test.flatMap((each) => each.exp_samples)).toEqual([]);
  const given = [fires, quiet].flatMap((proof) => proof?.input_series ?? []).map(({ series }) => series.split('{')[0]);
  const read = [...parsePromql(expr)].filter((name) => !name.startsWith('slo:'));
  expect(read.filter((metric) => !given.includes(metric))).toEqual([]);
});

test('the runbook has a section for each alert, and for no other', () => {
  const sections = [...readText('deploy/runbooks/alerts.md').matchAll(/^## (.+)$/gm)].map(([, name]) => name);
  expect(sections.toSorted()).toEqual([...new Set(alerts.map(({ alert }) => alert))].toSorted());
  for (const { alert, annotations } of alerts)
    expect(annotations.runbook_url).toBe(`deploy/runbooks/alerts.md#${alert.toLowerCase()}`);
});
