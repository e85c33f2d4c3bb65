export { type QuerySettings, readEnvironment, settings } from './env.js';
export { type Query, type QueryParts, runQuery } from './run.js';
