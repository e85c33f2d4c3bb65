import type { Hex } from '@makerbook/contracts-primitives';
import type { RedisConnection } from './connect.js';
import { decodeList, encodeList, type JoinedList } from './list-value.js';

/** The lists of makers in Redis: one value for each maker, which says of which version it is. Both calls throw RedisUnavailable. */
export interface ListCache {
  /** What was stored last, of whatever version. */
  readList(maker: Hex): Promise<JoinedList | undefined>;
  /** False where the list is too large. */
  storeList(maker: Hex, list: JoinedList): Promise<boolean>;
}

const TTL_SECONDS = 24 * 60 * 60;
/** Redis serves nobody else while it takes or gives a value. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;

export function createListCache(redis: RedisConnection, bodyBytesMax = BODY_BYTES_MAX): ListCache {
  return {
    async readList(maker) {
      const value = await redis.attempt((client) => client.getBuffer(redis.keys.list(maker)));
      return value === null ? undefined : decodeList(value);
    },

    async storeList(maker, list) {
      if (list.body.length > bodyBytesMax) return false;
      await redis.attempt((client) => client.set(redis.keys.list(maker), encodeList(list), 'EX', TTL_SECONDS));
      return true;
    },
  };
}
