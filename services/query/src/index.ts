export { querySettings } from './env.js';
export { createMakerRoutes, type MakerRouteParts, openReadModel, openStreams, type ReadModel } from './run.js';
export {
  type Happening,
  type HistoryEntry,
  type HistoryPlace,
  type HistoryQuery,
  happenings,
  type NewsQuery,
  placeOfEntry,
  type StoredNews,
} from './store/read-histories.js';
export type { ListedOrder } from './store/read-lists.js';
