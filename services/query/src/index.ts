export { querySettings } from './env.js';
export { createListRoute, type ListRouteParts } from './run.js';
