import { type Send, sendAtOnce } from '@makerbook/parts';
import type { RedisConnection } from '../redis/connect.js';
import { redisKeys } from '../redis/connect.js';

interface Kept {
  readonly tokens: number;
  readonly atMs: number;
}

class RedisIsAway extends Error {}

/** Redis in memory: the commands that this package uses, and what its script does. */
export class RedisInMemory {
  readonly #nowMs: () => number;
  /** Until when each salt is known, in milliseconds since 1970. */
  readonly #salts = new Map<string, number>();
  readonly #budgets = new Map<string, Kept>();

  /** @param nowMs milliseconds since 1970 */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  flush(): void {
    this.#salts.clear();
    this.#budgets.clear();
  }

  connect(keyPrefix: string, send: Send = sendAtOnce): RedisConnection {
    const ask = <T>(what: string, serve: () => T) => send(what, serve, (fate) => new RedisIsAway(fate));
    // Only the commands that this package uses are there.
    const client = {
      del: (key: string) => ask('DEL', () => Number(this.#salts.delete(key))),
      set: (key: string, _value: string, _unit: 'PX', lastsMs: number, _condition: 'NX') =>
        ask('SET', () => this.#setNew(key, lastsMs)),
      eval: (_script: string, keys: number, ...given: readonly unknown[]) =>
        ask('EVAL', () => this.#take(given.slice(0, keys) as string[], given.slice(keys) as number[])),
    };
    return {
      keys: redisKeys(keyPrefix),
      attempt: (commands) =>
        commands(client as never).catch((error: unknown) => {
          if (error instanceof RedisIsAway) return undefined;
          throw error;
        }),
      isThere: async () => true,
      waitUntilReady: async () => true,
      close: async () => undefined,
    };
  }

  #isKnown(name: string): boolean {
    return (this.#salts.get(name) ?? 0) > this.#nowMs();
  }

  #setNew(name: string, lastsMs: number): 'OK' | null {
    if (this.#isKnown(name)) return null;
    this.#salts.set(name, this.#nowMs() + lastsMs);
    return 'OK';
  }

  /** Does what the script of `guard-replays.ts` does. */
  #take([budget = '', name]: readonly string[], [windowMs = 0, nowMs = 0, rate = 0, burst = 0]: readonly number[]) {
    if (name !== undefined && this.#isKnown(name)) return ['used', 0];
    const kept = this.#budgets.get(budget) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, kept.tokens + (Math.max(0, nowMs - kept.atMs) * rate) / 1000);
    if (tokens + 0.00001 < 1) return ['spent', Math.ceil(((1 - tokens) * 1000) / rate)];
    if (name !== undefined) this.#setNew(name, windowMs);
    const left = Math.max(0, tokens - 1);
    this.#budgets.set(budget, { tokens: Number(left.toFixed(6)), atMs: Math.max(nowMs, kept.atMs) });
    return ['taken', Math.floor(left)];
  }
}
