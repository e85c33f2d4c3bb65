export { readEnvironment } from './env.js';
export { createListRoute, type ListConnections, type ListRouteParts } from './run.js';
