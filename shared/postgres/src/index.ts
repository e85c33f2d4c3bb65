export { encodeArray } from './binary-array.js';
export * from './claim-work.js';
export {
  byteaOf,
  connectPostgres,
  type Postgres,
  type PostgresOptions,
  type Query,
  seeOneMoment,
} from './connect-postgres.js';
export * from './failures.js';
export * from './follow-partitions.js';
export { gatherCalls } from './gather-calls.js';
export { type Granted, NO_LARGE_OBJECTS, rights, roleOf } from './grant-rights.js';
export { type Happening, type HistoryEntry, happenings, type OrderChange } from './history-rows.js';
export * from './migrate.js';
export * from './project-partition.js';
export * from './projected-positions.js';
export * from './projection-rows.js';
export * from './prune-history.js';
export * from './read-fills.js';
export * from './read-lists.js';
export * from './read-model.js';
export type { News, NewsQuery } from './read-news.js';
export * from './read-open-orders.js';
export * from './read-order.js';
export * from './save-projection.js';
