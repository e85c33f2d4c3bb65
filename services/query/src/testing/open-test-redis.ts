import { randomBytes } from 'node:crypto';
import { testParts } from '@makerbook/parts';
import { connectRedis, type RedisConnection } from '../redis/connect.js';

export const quiet = { info: () => undefined, warn: () => undefined };

/** A connection to the Redis of the run, with keys of its own. */
export function openTestRedis(): RedisConnection {
  const keyPrefix = `t${randomBytes(6).toString('hex')}:`;
  return connectRedis({ url: testParts().redisUrl, keyPrefix, logger: quiet, commandTimeoutMs: 30_000 });
}
