import type { Hex } from '@makerbook/contracts-primitives';
import type { RedisConnection } from './connect.js';
import { decodeList, encodeList, type JoinedList } from './list-value.js';

export type ListCache = ReturnType<typeof createListCache>;

const TTL_SECONDS = 24 * 60 * 60;
/** Redis serves nobody else while it takes or gives a value. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;

/** The lists of makers in Redis: one value for each maker, which says of which version it is. */
export function createListCache(redis: RedisConnection, bodyBytesMax = BODY_BYTES_MAX) {
  return {
    /** The list that was stored last, of any version; undefined also if Redis is away. */
    async readList(maker: Hex): Promise<JoinedList | undefined> {
      const value = await redis.attempt((client) => client.getBuffer(redis.keys.list(maker)));
      try {
        return value ? decodeList(value) : undefined;
      } catch {
        // Nobody of this build has written it: the next list replaces it.
        return undefined;
      }
    },

    async storeList(maker: Hex, list: JoinedList): Promise<'filled' | 'tooLarge' | 'failed'> {
      if (list.body.length > bodyBytesMax) return 'tooLarge';
      const value = encodeList(list);
      const answer = await redis.attempt((client) => client.set(redis.keys.list(maker), value, 'EX', TTL_SECONDS));
      return answer === 'OK' ? 'filled' : 'failed';
    },
  };
}
