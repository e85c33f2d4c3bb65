import { describe, expect, test } from '@jest/globals';
import { findUnknown, readMetrics } from '../read-metrics.js';
import { readText } from '../read-repository.js';
import { parsePromql } from '../testing/parse-promql.js';
import { duration } from './alert.js';
import { buildProofs } from './build-proofs.js';
import { type AlertingRule, buildRules } from './build-rules.js';
import { causeAlerts } from './causes.js';
import { objectives, recordOf, windowsSeconds } from './objectives.js';

const rules = buildRules().flatMap((group) => group.rules);
const alerts = rules.filter((rule): rule is AlertingRule => 'alert' in rule);
const records = new Set(rules.flatMap((rule) => ('record' in rule ? [rule.record] : [])));

test.each(rules.map((rule) => ['alert' in rule ? rule.alert : rule.record, rule.expr]))(
  '%s is PromQL over metrics that there are',
  (_, expr) => {
    const metrics = parsePromql(expr);
    expect(findUnknown(metrics)).toEqual([]);
    expect([...metrics].filter((name) => name.startsWith('slo:') && !records.has(name))).toEqual([]);
  },
);

test('a metric that nobody makes is noticed, and an expression that is none', () => {
  expect(readMetrics().get('projector')).toContain('projector_feed_age_seconds');
  expect(findUnknown(parsePromql('sum(rate(projector_feed_delay_seconds_bucket[5m])) / typo_total'))).toEqual([
    'typo_total',
  ]);
  expect(() => parsePromql('sum(rate(up[5m])')).toThrow('not PromQL');
});

test('each alert has a name of its own, but for its severities', () => {
  const names = alerts.map(({ alert, labels }) => `${alert} ${labels['severity']}`);
  expect(new Set(names).size).toBe(names.length);
});

test('the proof of each alert reads what its expression reads', () => {
  for (const { name, expr, proof } of causeAlerts(duration)) {
    const given = [proof.fires, proof.quiet].flatMap((series) => Object.keys(series)).map((each) => each.split('{')[0]);
    expect({ name, unproven: [...parsePromql(expr)].filter((metric) => !given.includes(metric)) }).toEqual({
      name,
      unproven: [],
    });
  }
  expect(JSON.stringify(buildProofs('')).match(/ALERTS/g)).toHaveLength(2 * new Set(alerts.map((a) => a.alert)).size);
});

test('a rehearsal keeps the rules, with shorter times', () => {
  const rehearsed = buildRules({ faster: 10 }).flatMap((group) => group.rules);
  const nameOf = (rule: (typeof rules)[number]) => ('alert' in rule ? rule.alert : rule.record);
  expect(rehearsed.map(nameOf)).toEqual(rules.map(nameOf));
  const kafka = rehearsed.find((rule): rule is AlertingRule => 'alert' in rule && rule.alert === 'KafkaAway');
  expect(kafka?.for).toBe('6s');
  expect(windowsSeconds.map((seconds) => recordOf(seconds, duration))).toContain('slo:error_ratio:rate5m');
});

test('the README promises what is measured', () => {
  const rows = [...readText('deploy/observability/README.md').matchAll(/^\| `([a-z-]+)` \| .+ \| ([\d.]+) % \|$/gm)];
  expect(rows.map(([, slo, share]) => [slo, Number(share)])).toEqual(
    objectives.map(({ slo, target }) => [slo, Number((100 * target).toFixed(4))]),
  );
});

describe('the runbook', () => {
  const sections = new Map(
    readText('deploy/runbooks/alerts.md')
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section]),
  );

  test('has a section for each alert, and for no other', () => {
    expect([...sections.keys()].toSorted()).toEqual([...new Set(alerts.map(({ alert }) => alert))].toSorted());
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook_url).toBe(`deploy/runbooks/alerts.md#${alert.toLowerCase()}`);
    }
  });

  test.each([...sections])('%s says what it means, where to look, what to do, and when it is over', (_, section) => {
    const heads = [...section.matchAll(/^\*\*(.+?)\*\*/gm)].map(([, head]) => head);
    expect(heads).toEqual(['Meaning.', 'Look at.', 'Do.', 'Over when']);
  });

  test.each([...sections])('%s names no metric that there is not', (_, section) => {
    const names = [...section.matchAll(/`((?:ingress|query|projector|chain_watcher|service|http_server)_\w+)/g)];
    expect(findUnknown(names.map(([, name]) => name ?? ''))).toEqual([]);
  });
});
