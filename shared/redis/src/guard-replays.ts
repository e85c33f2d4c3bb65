import type { Hex } from '@makerbook/contracts-primitives';
import { type RedisConnection, RedisUnavailable } from './connect.js';

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
 * Detects the replay of a signed request (Interface 4.2). All instances share Redis. Each instance also remembers its own
 * requests, so that a flushed or lost Redis does not allow their replay here.
 */
export function createReplayGuard(redis: RedisConnection, options: ReplayGuardOptions): ReplayGuard {
  const { windowMs, monotonicMs, localSaltsMax = 100_000 } = options;
  /** Key of the request → when it may be forgotten. All have the same window, so the first one is always the oldest. */
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

  return {
    async takeSalt(signer, salt) {
      const name = redis.keys.replay(signer, salt);
      if (!takeLocally(name)) return 'used';
      try {
        const answer = await redis.attempt((client) => client.set(name, '1', 'PX', windowMs, 'NX'));
        return answer === 'OK' ? 'taken' : 'used';
      } catch (error) {
        if (error instanceof RedisUnavailable) return 'takenLocally';
        throw error;
      }
    },

    async releaseSalt(signer, salt) {
      const name = redis.keys.replay(signer, salt);
      seen.delete(name);
      try {
        await redis.attempt((client) => client.del(name));
      } catch (error) {
        if (!(error instanceof RedisUnavailable)) throw error;
      }
    },
  };
}
