export { byteaOf, connectPostgres, type Postgres, type PostgresOptions, type Query } from './connect-postgres.js';
export { describeSchema } from './describe-schema.js';
export * from './failures.js';
export { hashReadModel, type ReadModelHash } from './hash-read-model.js';
export { type Migration, migrate, readMigrations } from './migrate.js';
export * from './project-partition.js';
export { projectedPositions } from './projected-positions.js';
export * from './read-orders.js';
export { saveProjection } from './save-projection.js';
