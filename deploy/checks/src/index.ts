export { listQueries, type Query } from './observability/list-queries.js';
export { type AlertingRule, type RecordingRule, type RuleGroup, readRules } from './observability/read-rules.js';
export {
  fieldOf,
  findRenderer,
  type Manifest,
  nameOf,
  type Overlay,
  parseManifests,
  readText,
  renderOverlay,
} from './read-manifests.js';
export { isOurs, type Pod, readEnvironmentOf, readPods } from './read-pods.js';
