export { listQueries, type Query } from './observability/list-queries.js';
export { type AlertingRule, type RecordingRule, type RuleGroup, readRules } from './observability/read-rules.js';
export { fieldOf, type Manifest, readText, renderOverlay } from './read-manifests.js';
export { type Pod, readEnvironmentOf, readPods } from './read-pods.js';
