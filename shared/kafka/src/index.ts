export { type BrokerState, type PartitionState, readCluster } from './cluster/read-cluster.js';
export { connectLog } from './connect-log.js';
export * from './failures.js';
export type * from './log.js';
export { partitionOf } from './partition-of.js';
export { awaitTopics, type VerifiedTopics } from './topics/await-topics.js';
export { type LogName, nameAfter, nameLog, RESTORED_HEADER } from './topics/name-log.js';
