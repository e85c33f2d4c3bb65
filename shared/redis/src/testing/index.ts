export { RedisInMemory } from './redis-in-memory.js';
