export { encodeArray } from './binary-array.js';
export {
  byteaOf,
  connectPostgres,
  type Postgres,
  type PostgresOptions,
  type Query,
  seeOneMoment,
} from './connect-postgres.js';
export * from './failures.js';
export { gatherCalls } from './gather-calls.js';
export { compareRights, type Granted, NO_LARGE_OBJECTS, rights, roleOf } from './grant-rights.js';
export * from './migrate.js';
export * from './projection-rows.js';
export * from './read-clocks.js';
export { type RowOf, RowShape, type RowsOfPartitions } from './row-shape.js';
