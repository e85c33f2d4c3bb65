export type { Projector } from '../own/project-log.js';
export { createTestProjector } from './create-test-projector.js';
export { drawStream, makersOf, orderOf } from './generate-facts.js';
export { type ConsumeParts, consumePartition, type Holder } from './simulation/consume-partition.js';
export { type InFlight, noTables, RowsInMemory, type Tables } from './simulation/hold-rows.js';
export { judgeBook, judgeFeeds, judgeOrder, judgeRows } from './simulation/judge-run.js';
export { Replay } from './simulation/replay-log.js';
