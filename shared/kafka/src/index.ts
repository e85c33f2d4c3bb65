export { type AwaitTopicsOptions, awaitTopics, type VerifiedTopics } from './await-topics.js';
export { connectLog } from './connect-log.js';
export * from './failures.js';
export type * from './log.js';
export { partitionOf } from './partition-of.js';
