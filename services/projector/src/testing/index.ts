export { RowCommitter } from '../commit/commit-rows.js';
export { DueMakers } from '../fold/due-makers.js';
export type { PartitionState } from '../fold/partition-state.js';
export type { LoggedFact } from '../fold/read-facts.js';
export type { Projector } from '../own/project-log.js';
export { openProjectionStore, type ProjectionStore, startOfRows } from '../store/open-store.js';
export { createTestProjector } from './create-test-projector.js';
export { drawStream, makersOf, orderOf } from './generate-facts.js';
export { type InFlight, mayBeForgotten, noTables, RowsInMemory, type Tables } from './hold-rows.js';
