import { type Send, sendAtOnce } from '@makerbook/parts';
import type { RedisConnection } from '../connect.js';
import { redisKeys } from '../keys.js';

interface Entry {
  readonly value: Buffer;
  /** When it expires, in milliseconds since 1970. */
  readonly untilMs: number;
}

interface Kept {
  readonly tokens: number;
  readonly atMs: number;
}

class RedisIsAway extends Error {}

/** Redis in memory: the commands that this package uses, and what its script does. */
export class RedisInMemory {
  readonly #nowMs: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #budgets = new Map<string, Kept>();

  /** @param nowMs milliseconds since 1970 */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  flush(): void {
    this.#entries.clear();
    this.#budgets.clear();
  }

  connect(keyPrefix: string, send: Send = sendAtOnce): RedisConnection {
    const ask = <T>(what: string, serve: () => T) => send(what, serve, (fate) => new RedisIsAway(fate));
    const client = {
      getBuffer: (key: string) => ask('GET', () => this.#find(key)),
      set: (key: string, value: Buffer, _unit: 'EX', seconds: number) =>
        ask('SET', () => {
          this.#entries.set(key, { value, untilMs: this.#nowMs() + seconds * 1000 });
          return 'OK';
        }),
      del: (key: string) => ask('DEL', () => Number(this.#entries.delete(key))),
      eval: (_script: string, _keys: number, name: string, budget: string, ...figures: number[]) =>
        ask('EVAL', () => this.#take(name, budget, figures)),
    };
    return {
      keys: redisKeys(keyPrefix),
      // Only the commands that this package uses are there.
      client: client as never,
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

  #find(key: string): Buffer | null {
    const entry = this.#entries.get(key);
    return entry === undefined || entry.untilMs <= this.#nowMs() ? null : entry.value;
  }

  /** The script of `guard-replays.ts`. */
  #take(name: string, budget: string, [windowMs = 0, nowMs = 0, rate = 0, burst = 0]: readonly number[]) {
    if (this.#find(name) !== null) return ['used', 0];
    const kept = this.#budgets.get(budget) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, kept.tokens + (Math.max(0, nowMs - kept.atMs) * rate) / 1000);
    if (tokens + 0.00001 < 1) return ['spent', Math.ceil(((1 - tokens) * 1000) / rate)];
    this.#entries.set(name, { value: Buffer.from('1'), untilMs: this.#nowMs() + windowMs });
    const left = Math.max(0, tokens - 1);
    this.#budgets.set(budget, { tokens: Number(left.toFixed(6)), atMs: Math.max(nowMs, kept.atMs) });
    return ['taken', Math.floor(left)];
  }
}
