export { querySettings } from './env.js';
export { createMakerRoutes, type MakerRouteParts, openStreams } from './run.js';
