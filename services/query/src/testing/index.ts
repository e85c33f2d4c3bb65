export type { RedisConnection } from '../redis/connect.js';
export { RedisInMemory } from './redis-in-memory.js';
