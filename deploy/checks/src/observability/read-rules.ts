import { parse } from 'yaml';
import { readText } from '../read-manifests.js';

export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface AlertingRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<'summary' | 'runbook_url', string>>;
}

export interface RuleGroup {
  readonly name: string;
  readonly interval?: string;
  readonly rules: readonly (RecordingRule | AlertingRule)[];
}

export const RULES_FOLDER = 'deploy/observability/rules';

/** Reads the PrometheusRule `objectives` or `causes`, and returns it as a rules file of Prometheus. */
export function readRulesFile(name: 'objectives' | 'causes'): { groups: RuleGroup[] } {
  const { spec } = parse(readText(`${RULES_FOLDER}/${name}.yaml`)) as { spec: { groups: RuleGroup[] } };
  return spec;
}

export function readRules(): RuleGroup[] {
  return [...readRulesFile('objectives').groups, ...readRulesFile('causes').groups];
}
