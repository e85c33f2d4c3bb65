import { duration, type Proof } from './alert.js';
import { causeAlerts } from './causes.js';
import { objectives } from './objectives.js';

/** The unit tests of the rules, as `promtool test rules` reads them: each alert fires, and does not on what is close to it. */
export function buildProofs(rulesFile: string): object {
  const burns = objectives.map(({ alert, proof }) => ({ name: alert, proof, severities: ['page', 'ticket'] }));
  const causes = causeAlerts(duration).map(({ name, proof, severity }) => ({ name, proof, severities: [severity] }));
  return {
    rule_files: [rulesFile],
    evaluation_interval: '1m',
    tests: [
      ...[...burns, ...causes].flatMap(({ name, proof, severities }) => [
        prove(`${name} fires`, name, proof.fires, proof.atMinute, severities),
        prove(`${name} is quiet`, name, proof.quiet, proof.atMinute, []),
      ]),
      freshnessWithoutWatcher,
    ],
  };
}

/** Who knows the number of partitions may be away. */
const freshnessWithoutWatcher = {
  name: 'the freshness of the feed is known while no watcher runs',
  interval: '1m',
  input_series: [
    { series: 'projector_feed_age_seconds{partition="0"}', values: '2x10' },
    { series: 'projector_feed_age_seconds{partition="1"}', values: '20x10' },
  ],
  promql_expr_test: [
    {
      expr: 'slo:error_ratio:now{slo="feed-freshness"}',
      eval_time: '5m',
      exp_samples: [{ labels: 'slo:error_ratio:now{slo="feed-freshness"}', value: 0.5 }],
    },
  ],
};

function prove(name: string, alert: string, series: Proof['fires'], atMinute: number, severities: readonly string[]) {
  return {
    name,
    interval: '1m',
    input_series: Object.entries(series).map(([of, values]) => ({ series: of, values })),
    promql_expr_test: [
      {
        expr: `count by (severity) (ALERTS{alertname="${alert}",alertstate="firing"}) > bool 0`,
        eval_time: `${atMinute}m`,
        exp_samples: severities.map((severity) => ({ labels: `{severity="${severity}"}`, value: 1 })),
      },
    ],
  };
}
