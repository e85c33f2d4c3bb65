import { stringify } from 'yaml';
import { buildDashboard } from './dashboards/build-dashboard.js';
import { dashboards } from './list-queries.js';
import { buildProofs } from './rules/build-proofs.js';
import { buildRules } from './rules/build-rules.js';

const MADE = 'Made by `npm run observability` from deploy/observability/src.';

/** Every file that is made here, by its path from the repository's root. */
export function listFiles(): Map<string, string> {
  const groups = buildRules();
  const prometheusRule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'makerbook' },
    spec: { groups },
  };
  return new Map([
    ['deploy/observability/rules/makerbook.yaml', yamlOf({ groups })],
    ['deploy/observability/rules/makerbook.test.yaml', yamlOf(buildProofs('makerbook.yaml'))],
    ['deploy/k8s/components/monitoring/prometheus-rules.yaml', yamlOf(prometheusRule)],
    ...dashboards.map((spec): [string, string] => [
      `deploy/k8s/components/monitoring/dashboards/${spec.uid}.json`,
      `${JSON.stringify(buildDashboard(spec))}\n`,
    ]),
  ]);
}

function yamlOf(value: object): string {
  return `# ${MADE}\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}
