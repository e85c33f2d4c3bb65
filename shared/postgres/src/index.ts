export {
  type Admission,
  type Budget,
  type MarkOutcome,
  type MarkRequest,
  type OrderToPlace,
  openAdmission,
  type PlaceOutcome,
  type PlaceRequest,
  type PlacingMaker,
  type Trust,
} from './admit-orders.js';
export * from './await-projection.js';
export { createWriteWatch, type WriteWatch, type WriteWatchOptions } from './await-writes.js';
export { byteaOf, connectPostgres, type Postgres, type PostgresOptions, type Query } from './connect-postgres.js';
export * from './failures.js';
export { type Migration, migrate, readMigrations, SchemaMismatch, verifySchema } from './migrate.js';
export * from './project-partition.js';
export { projectedBlock, projectedPositions } from './projected-positions.js';
export * from './projection-rows.js';
export { type Pruned, pruneHashes, pruneHistory } from './prune-history.js';
export * from './read-lists.js';
export { openReadModel, type ReadModel } from './read-model.js';
export * from './read-open-orders.js';
export * from './read-orders.js';
export * from './save-projection.js';
