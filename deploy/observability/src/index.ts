import { objectives } from './rules/objectives.js';

export { listQueries, type Query } from './list-queries.js';
export { type AlertingRule, buildRules, type RecordingRule, type RuleGroup } from './rules/build-rules.js';

/** Alerts on how fast an error budget is spent. They look back for hours, so they end late. */
export const burnAlerts: readonly string[] = objectives.map(({ alert }) => alert);
