export { querySettings } from './env.js';
export { createMakerRoutes, type MakerRouteParts, openReadModel, openStreams, type ReadModel } from './run.js';
export {
  type HistoryEntry,
  type HistoryPlace,
  type HistoryQuery,
  type NewsQuery,
  placeOfEntry,
  type StoredNews,
} from './store/read-histories.js';
export type { ListedOrder } from './store/read-lists.js';
