export * from './cache-lists.js';
export * from './connect.js';
export * from './keys.js';
export type { ListedOrder } from './list-entry.js';
export * from './refresh-partition.js';
