export { querySettings } from './env.js';
export { createMakerRoutes, type MakerRouteParts, openStreams } from './run.js';
export {
  type Happening,
  type HistoryEntry,
  type HistoryPlace,
  type HistoryQuery,
  happenings,
  type News,
  type NewsQuery,
  placeOfEntry,
} from './store/read-histories.js';
export type { ListedOrder } from './store/read-lists.js';
export { openReadModel, type ReadModel } from './store/read-model.js';
