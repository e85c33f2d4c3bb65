import type { Hex } from '@makerbook/contracts-primitives';

/** Every key of the cache, behind one prefix. A cluster places a key by what is in braces. */
export interface RedisKeys {
  readonly prefix: string;
  /** STRING: the maker's list with its version (`list-value.ts`). */
  list(maker: Hex): string;
  /** HASH: what is left of the signer's budget of lists. */
  listBudget(signer: Hex): string;
  /** STRING: a signed request that was answered, by signer and salt. It expires with the request's window. */
  replay(signer: Hex, salt: Hex): string;
}

/** @param prefix put before every key, so that several deployments can share a Redis. */
export function redisKeys(prefix: string): RedisKeys {
  return {
    prefix,
    list: (maker) => `${prefix}l:{${maker}}`,
    listBudget: (signer) => `${prefix}q:{${signer}}`,
    replay: (signer, salt) => `${prefix}g:{${signer}}:${salt}`,
  };
}
