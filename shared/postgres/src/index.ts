export { byteaOf, connectPostgres, type Postgres, type PostgresOptions, type Query } from './connect-postgres.js';
export { describeSchema } from './describe-schema.js';
export * from './failures.js';
export { type Migration, migrate, readMigrations } from './migrate.js';
export * from './read-orders.js';
