export { awaitInSync } from './await-in-sync.js';
export * from './leave-open.js';
export { LogInMemory, type LogInMemoryOptions, type LogView } from './log-in-memory.js';
export { readRecords } from './open-test-log.js';
