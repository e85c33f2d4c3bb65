export { type ConnectRedisOptions, connectRedis, type RedisConnection } from './connect.js';
export { createReplayGuard, type ReplayGuard, type ReplayGuardOptions, type Taken } from './guard-replays.js';
export * from './keys.js';
