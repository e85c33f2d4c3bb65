import { type RedisConnection, RedisUnavailable } from './connect.js';

/** A 0x-prefixed lowercase hex string. */
type Hex = `0x${string}`;

export interface ReplayGuard {
  /**
   * Takes a signer's salt, once: `taken` the first time, `used` from then on. `takenLocally` is the answer while Redis is
   * away: only this process then knows of it.
   */
  takeSalt(signer: Hex, salt: Hex): Promise<'taken' | 'takenLocally' | 'used'>;
  /** Gives a salt back: the request could not be answered, and may come again as it is. */
  releaseSalt(signer: Hex, salt: Hex): Promise<void>;
}

export interface ReplayGuardOptions {
  /** How long a salt is remembered: at least as long as a request that carries it could be accepted. */
  readonly windowMs: number;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
  /** Bound on what this process remembers by itself; beyond it the oldest are forgotten. Default 100000. */
  readonly localSaltsMax?: number;
}

/**
 * Tells a signed request from its replay (Interface 4.2). Redis is what all instances share. Each also remembers what it
 * saw itself, so that a flushed or lost Redis does not open the window for the requests that came through here.
 */
export function createReplayGuard(redis: RedisConnection, options: ReplayGuardOptions): ReplayGuard {
  const { windowMs, monotonicMs, localSaltsMax = 100_000 } = options;
  /** Salt → when it may be forgotten. All live equally long, so the first one is always the oldest. */
  const seen = new Map<string, number>();

  function takeLocally(name: string): boolean {
    const nowMs = monotonicMs();
    for (const [oldest, untilMs] of seen) {
      if (untilMs > nowMs && seen.size < localSaltsMax) break;
      seen.delete(oldest);
    }
    if (seen.has(name)) return false;
    seen.set(name, nowMs + windowMs);
    return true;
  }

  const keyOf = (name: string) => `${redis.keys.prefix}g:${name}`;

  return {
    async takeSalt(signer, salt) {
      const name = `${signer}:${salt}`;
      if (!takeLocally(name)) return 'used';
      try {
        const answer = await redis.attempt((client) => client.set(keyOf(name), '1', 'PX', windowMs, 'NX'));
        return answer === 'OK' ? 'taken' : 'used';
      } catch (error) {
        if (error instanceof RedisUnavailable) return 'takenLocally';
        throw error;
      }
    },

    async releaseSalt(signer, salt) {
      const name = `${signer}:${salt}`;
      seen.delete(name);
      try {
        await redis.attempt((client) => client.del(keyOf(name)));
      } catch (error) {
        if (!(error instanceof RedisUnavailable)) throw error;
      }
    },
  };
}
