import type { Hex } from '@makerbook/contracts-primitives';
/**
 * Every key of the cache, behind one prefix. A derived key carries the partition's epoch in its name: once the epoch
 * has changed, nothing that was written before it is ever read again, and its TTL clears it away.
 */
export interface RedisKeys {
  readonly prefix: string;
  /** HASH `pos` (the log offset that Redis reflects, decimal), and `epoch`. Made by the projector's script alone. */
  partition(partition: number): string;
  /** STRING: the maker's list with its version (`list-value.ts`). */
  list(maker: Hex): string;
  /** HASH with `ready`: the maker's reservations were loaded. Without it the maker is cold. */
  reservations(epoch: string, maker: Hex): string;
  /** ZSET of hashes ever accepted or reserved; score: `expiresAt` in seconds. Pruned some time after the expiry. */
  seen(epoch: string, maker: Hex): string;
  /** ZSET of hashes open or reserved; score: `expiresAt` in seconds. */
  open(epoch: string, maker: Hex): string;
  /**
   * HASH reservation id → `<end of its lease in ms>;<epoch>;<hashes>`: requests whose append is under way. Ingress writes it,
   * and deletes it when the log has answered. After the end of a lease Postgres decides the outcome. A hash that is
   * cancelled or removed meanwhile is taken out (`luaRelease`): it stays known, whatever the outcome of the request. No epoch
   * in its name: what is under way outlives each of them.
   */
  underWay(maker: Hex): string;
  /** HASH: what is left of the maker's budget of orders. No epoch: a budget outlives a new owner of the partition. */
  orderBudget(maker: Hex): string;
  /** HASH: what is left of the maker's budget of cancellations. */
  cancelBudget(maker: Hex): string;
  /** HASH: what is left of the signer's budget of lists. */
  listBudget(signer: Hex): string;
  /**
   * STRING `<partition>:<epoch>:<maker>:<salt>:<expiry>` (salt in minimal hex, expiry in seconds): how DELETE finds maker
   * and salt of an order, from the moment it is reserved; `-` once it was cancelled. Deleted when the order is removed, or
   * was certainly not stored. With another epoch than the partition's it does not show whether the order is still open.
   * To be written with NX when an order opens: a cancellation may be ahead of the projector.
   */
  hint(orderHash: Hex): string;
  /**
   * STRING, milliseconds: when a DELETE was last answered that the hash is unknown. A POST that arrived before does
   * not place it any more.
   */
  absent(orderHash: Hex): string;
  /**
   * STRING: a signed request that was answered, by signer and salt. It expires with the request's window. A cluster places a key
   * by what is in braces, so that it is with the signer's budget.
   */
  replay(signer: Hex, salt: Hex): string;
  /** STRING `<run id of Redis>:<ms>`: since when nothing that was written here was lost. See `luaSince`. */
  since(): string;
}

/**
 * TTL of the derived keys of a maker, set whenever a script writes one: what nobody touches for so long is loaded anew.
 * `reservations` gets this one and dies first; the sets that it vouches for live `DERIVED_TTL_SPARE_SECONDS` longer.
 */
export const DERIVED_TTL_SECONDS = 24 * 60 * 60;
export const DERIVED_TTL_SPARE_SECONDS = 60 * 60;

/** The longest TTL of a hint, however late the order expires. Without a hint, DELETE queries Postgres. */
export const HINT_TTL_SECONDS_MAX = 30 * 24 * 60 * 60;

/**
 * How long a hash is remembered beyond its expiry. An expired order is refused for being expired; the spare time covers
 * clocks that differ between instances.
 */
export const SEEN_SPARE_SECONDS = 300;

/** @param prefix put before every key, so that several deployments can share a Redis. */
export function redisKeys(prefix: string): RedisKeys {
  return {
    prefix,
    partition: (partition) => `${prefix}p:${partition}`,
    list: (maker) => `${prefix}l:{${maker}}`,
    reservations: (epoch, maker) => `${prefix}r:${epoch}:${maker}`,
    seen: (epoch, maker) => `${prefix}s:${epoch}:${maker}`,
    open: (epoch, maker) => `${prefix}o:${epoch}:${maker}`,
    underWay: (maker) => `${prefix}w:${maker}`,
    orderBudget: (maker) => `${prefix}b:${maker}`,
    cancelBudget: (maker) => `${prefix}c:${maker}`,
    listBudget: (signer) => `${prefix}q:{${signer}}`,
    hint: (orderHash) => `${prefix}h:${orderHash}`,
    absent: (orderHash) => `${prefix}a:${orderHash}`,
    replay: (signer, salt) => `${prefix}g:{${signer}}:${salt}`,
    since: () => `${prefix}since`,
  };
}

/**
 * The same names for scripts, as a function `key(kind, …)`: put it first in a script whose ARGV[1] is the prefix.
 * `key('p', 3)`, `key('s', epoch, maker)`, `key('h', orderHash)`; and `hintOf(…)`, what a hint holds.
 */
export const luaKeyNames = `
local prefix = ARGV[1]
local function key(kind, a, b)
  if b then return prefix .. kind .. ':' .. a .. ':' .. b end
  return prefix .. kind .. ':' .. a
end
local function hintOf(partition, epoch, maker, salt, expires)
  return partition .. ':' .. epoch .. ':' .. maker .. ':' .. salt .. ':' .. expires
end
`;

/**
 * `since(nowMs)`, for scripts after `luaKeyNames`: `<run id>:<ms>`, the same as long as this Redis has lost nothing. A
 * flush deletes the key, and a restart, which may lose what was written last, changes the run id.
 */
export const luaSince = `
local function since(nowMs)
  local info = redis.call('INFO', 'server')
  local run = string.match(info, 'run_id:(%w+)')
  local known = redis.call('GET', prefix .. 'since')
  if known and string.match(known, '^%w+') == run then return known end
  -- Not the time of the call alone: one that comes late may have been sent before the loss.
  local hereMs = math.floor(tonumber(string.match(info, 'server_time_usec:(%d+)') or 0) / 1000)
  known = run .. ':' .. string.format('%.0f', math.max(tonumber(nowMs), hereMs))
  redis.call('SET', prefix .. 'since', known)
  return known
end
`;

/** `release(maker, hash)`, for scripts after `luaKeyNames`: takes the hash out of the leases of requests under way. */
export const luaRelease = `
local function release(maker, hash)
  local underWay = key('w', maker)
  local leases = redis.call('HGETALL', underWay)
  for i = 1, #leases, 2 do
    local others, found = string.gsub(leases[i + 1], hash, '')
    if found > 0 then redis.call('HSET', underWay, leases[i], others) end
  end
end
`;
