export * from './leave-open.js';
export { LogInMemory, type LogInMemoryOptions, type LogView } from './log-in-memory.js';
