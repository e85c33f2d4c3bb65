export { querySettings } from './env.js';
export { createMakerRoutes, type MakerRouteParts } from './run.js';
