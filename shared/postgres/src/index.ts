export { type After, createWriteWatch, startTimer, type WriteWatch, type WriteWatchOptions } from './await-writes.js';
export * from './claim-work.js';
export { byteaOf, connectPostgres, type Postgres, type PostgresOptions, type Query } from './connect-postgres.js';
export {
  type FoundHash,
  type MarkOutcome,
  type MarkRequest,
  type OrderToPlace,
  openPlacementStore,
  type PlacementStore,
  type PlaceOutcome,
  type PlaceRequest,
  type PlacingMaker,
  type Trust,
} from './decide-requests.js';
export * from './failures.js';
export { type Migration, migrate, readMigrations, SchemaMismatch, verifySchema } from './migrate.js';
export * from './project-partition.js';
export { projectedBlock, projectedPositions } from './projected-positions.js';
export * from './projection-rows.js';
export { type Pruned, pruneHashes, pruneHistory } from './prune-history.js';
export * from './read-lists.js';
export { openReadModel, type ReadModel } from './read-model.js';
export * from './read-open-orders.js';
export * from './read-order.js';
export * from './save-projection.js';
