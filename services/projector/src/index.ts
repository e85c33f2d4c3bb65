export { type ProjectorSettings, projectorSettings } from './env.js';
export { type RunningProjector, runProjector } from './run.js';
