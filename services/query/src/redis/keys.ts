import type { Hex } from '@makerbook/contracts-primitives';

export type RedisKeys = ReturnType<typeof redisKeys>;

/**
 * Every key in Redis. A cluster places a key by what is in braces.
 * @param prefix put before every key, so that several deployments can share a Redis.
 */
export function redisKeys(prefix: string) {
  return {
    prefix,
    /** HASH: what is left of the signer's budget of lists. */
    listBudget: (signer: Hex) => `${prefix}q:{${signer}}`,
    /** STRING: a signed request that was answered, by signer and salt. It expires with the request's window. */
    replay: (signer: Hex, salt: Hex) => `${prefix}g:{${signer}}:${salt}`,
  };
}
