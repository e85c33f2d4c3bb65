import type { Hex } from '@makerbook/contracts-primitives';
import type { Budget } from '@makerbook/domain';
import type { RedisConnection } from './connect.js';

/**
 * The outcome of a request.
 * - `taken`: the first with its salt. It was charged, and `remaining` lists are left in the maker's budget.
 * - `takenLocally`: Redis is down or full, so only this process knows the salt, and nothing was charged.
 * - `used`: a replay.
 * - `rate_limited`: the budget is spent. The salt can still be used.
 */
export type Taken =
  | { readonly kind: 'taken'; readonly remaining: number }
  | { readonly kind: 'takenLocally' }
  | { readonly kind: 'used' }
  | { readonly kind: 'rate_limited'; readonly remaining: 0; readonly retryAfterMs: number };

export type ReplayGuard = ReturnType<typeof createReplayGuard>;

/** The signer, who owns the salt, and the maker, whose budget is charged. They differ if a key signs for the maker. */
export interface Signing {
  readonly signer: Hex;
  readonly maker: Hex;
}

export interface ReplayGuardOptions {
  /** How long a salt is remembered: at least as long as a request with it can be accepted. */
  readonly windowMs: number;
  /** The budget of lists of one maker, shared by all instances. */
  readonly budget: Budget;
  /** How many salts this process remembers by itself. Beyond that it forgets the oldest. Default 100000. */
  readonly localSaltsMax?: number;
}

/**
 * Detects the replay of a signed request, and charges the maker's budget of lists. All instances share Redis. Each
 * instance also remembers its own requests, so that a lost, flushed or full Redis does not allow their replay here.
 */
export function createReplayGuard(redis: RedisConnection, options: ReplayGuardOptions) {
  const { windowMs, budget, localSaltsMax = 100_000 } = options;
  /** When each request may be forgotten, keyed by its Redis key. All have one window, so the first is the oldest. */
  const seen = new Map<string, number>();

  function takeLocally(name: string, nowMs: number): boolean {
    for (const [oldest, untilMs] of seen) {
      if (untilMs > nowMs && seen.size < localSaltsMax) break;
      seen.delete(oldest);
    }
    if (seen.has(name)) return false;
    seen.set(name, nowMs + windowMs);
    return true;
  }

  /** Another instance took the salt. It may give the salt back to Redis, and nobody tells this instance. */
  function refuseUsed(name: string): Taken {
    seen.delete(name);
    return { kind: 'used' };
  }

  async function release(name: string): Promise<void> {
    seen.delete(name);
    await redis.attempt((client) => client.del(name));
  }

  return {
    /**
     * Takes a signer's salt once, and charges one list to the maker's budget. This takes one round trip, or two for a
     * key, whose salts are on another node of a Redis Cluster.
     * @param nowMs by the clock that judges the request's window
     */
    async takeSalt({ signer, maker }: Signing, salt: Hex, nowMs: number): Promise<Taken> {
      const name = redis.keys.replay(signer, salt);
      if (!takeLocally(name, nowMs)) return { kind: 'used' };
      const isOfKey = signer !== maker;
      if (isOfKey) {
        const first = await redis.attempt((client) => client.set(name, '1', 'PX', windowMs, 'NX'));
        if (first === undefined) return { kind: 'takenLocally' };
        if (first === null) return refuseUsed(name);
      }
      const keys = [redis.keys.listBudget(maker), ...(isOfKey ? [] : [name])];
      const args = [windowMs, nowMs, budget.ratePerSecond, budget.burst];
      const answer = await redis.attempt((client) => client.eval(takeScript, keys.length, ...keys, ...args));
      if (answer === undefined) return { kind: 'takenLocally' };
      const [kind, figure] = answer as ['taken' | 'used' | 'spent', number];
      if (kind === 'taken') return { kind, remaining: figure };
      if (kind === 'used') return refuseUsed(name);
      if (isOfKey) await release(name);
      else seen.delete(name);
      return { kind: 'rate_limited', remaining: 0, retryAfterMs: figure };
    },

    /** Gives a salt back, because the request was not answered and may come again unchanged. */
    releaseSalt: (signer: Hex, salt: Hex): Promise<void> => release(redis.keys.replay(signer, salt)),
  };
}

/**
 * KEYS: 1 is the budget, full if missing. 2 is the request, if its salt is still to take. A replay is not charged,
 * because its sender need not be the signer.
 */
const takeScript = `
local nowMs, rate, burst = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if KEYS[2] and redis.call('EXISTS', KEYS[2]) == 1 then return { 'used', 0 } end
local tokens = burst
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'atMs')
if kept[1] then
  local atMs = tonumber(kept[2])
  tokens = math.min(burst, tonumber(kept[1]) + math.max(0, nowMs - atMs) * rate / 1000)
  nowMs = math.max(nowMs, atMs)
end
if tokens + 0.00001 < 1 then return { 'spent', math.ceil((1 - tokens) * 1000 / rate) } end
if KEYS[2] then redis.call('SET', KEYS[2], '1', 'PX', ARGV[1]) end
local left = math.max(0, tokens - 1)
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', left), 'atMs', string.format('%.0f', nowMs))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil((burst - left) * 1000 / rate) + 1000))
return { 'taken', math.floor(left) }
`;
