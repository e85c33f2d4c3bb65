import { type Send, sendAtOnce } from '@makerbook/parts';
import { type RedisConnection, RedisUnavailable } from '../connect.js';
import { redisKeys } from '../keys.js';
import { type LuaValue, type RedisCall, runLua } from './run-lua.js';

interface Entry {
  readonly value: string | Map<string, string> | Map<string, number>;
  /** When it expires, in milliseconds since 1970. */
  untilMs: number;
}

const never = Number.POSITIVE_INFINITY;

/** Redis in memory: the commands that this package uses, its scripts as they are, and nothing else. */
export class RedisInMemory {
  /** A planted defect: what was not stored stays reserved. */
  static keepsReservations = false;
  /** A planted defect: as if nothing had ever been lost. */
  static forgetsLosses = false;
  readonly entries = new Map<string, Entry>();
  readonly #nowMs: () => number;
  #runs = 0;

  /** @param nowMs milliseconds since 1970 */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** All is gone. */
  flush(): void {
    this.entries.clear();
  }

  /** As a restart from a snapshot: what was written since is lost, and the run is another one. */
  restart(entries: ReadonlyMap<string, Entry>): void {
    this.#runs += 1;
    this.flush();
    for (const [key, entry] of entries) this.entries.set(key, entry);
  }

  /** What a restart may come back with. */
  snapshot(): ReadonlyMap<string, Entry> {
    return new Map([...this.entries].map(([key, { value, untilMs }]) => [key, { value: copyOf(value), untilMs }]));
  }

  connect(keyPrefix: string, send: Send = sendAtOnce): RedisConnection {
    const failure = (fate: string) => new RedisUnavailable(fate);
    const ask = <T>(what: string, serve: () => T) => send(what, serve, failure);
    const one =
      (name: string) =>
      (...args: readonly string[]) =>
        ask(name, () => this.command(name, ...args));
    const client = {
      hget: one('HGET'),
      hdel: one('HDEL'),
      del: one('DEL'),
      getBuffer: (key: string) =>
        ask('GET', () => {
          const value = this.#text(key);
          return value === null ? null : Buffer.from(value);
        }),
      set: (...args: readonly unknown[]) => ask('SET', () => this.command('SET', ...args.map(String))),
    };
    return {
      keys: redisKeys(keyPrefix),
      // What this package does not use of a client is not there.
      client: client as never,
      attempt: (commands) => commands(client as never),
      runScript: ({ lua }, keys, args) =>
        ask('script', () => {
          const given = args.map(String);
          if (RedisInMemory.keepsReservations && isSettlement(given)) return this.#keep(given);
          return runLua(lua, keys, given, this.command);
        }),
      isThere: async () => true,
      waitUntilReady: async () => true,
      close: async () => undefined,
    };
  }

  readonly command: RedisCall = (name, ...args) => {
    if (RedisInMemory.forgetsLosses && name === 'GET' && args[0]?.endsWith(':since')) return `${this.#runId}:0`;
    const run = this.#commands[name];
    if (run === undefined) throw new Error(`ERR unknown command ${name}`);
    return run(...args);
  };

  /** The reservation has ended, and nothing is released. */
  #keep([prefix, id = '', , ...makers]: readonly string[]): number {
    for (const maker of makers) this.command('HDEL', `${prefix}w:${maker}`, id);
    return 1;
  }

  get #runId(): string {
    return String(this.#runs).padStart(40, 'f');
  }

  #find(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || entry.untilMs > this.#nowMs()) return entry;
    this.entries.delete(key);
    return undefined;
  }

  #text(key: string): string | null {
    const value = this.#find(key)?.value;
    return typeof value === 'string' ? value : null;
  }

  #hash(key: string): ReadonlyMap<string, string> {
    return (this.#find(key)?.value ?? new Map()) as ReadonlyMap<string, string>;
  }

  #scores(key: string): ReadonlyMap<string, number> {
    return (this.#find(key)?.value ?? new Map()) as ReadonlyMap<string, number>;
  }

  #values(key: string): string[] {
    return [...this.#hash(key).values()];
  }

  /** A collection that is empty is none. */
  #change<V>(key: string, work: (value: Map<string, V>) => number): number {
    const entry = this.#find(key) ?? { value: new Map<string, never>(), untilMs: never };
    const changed = work(entry.value as unknown as Map<string, V>);
    if ((entry.value as Map<string, unknown>).size === 0) this.entries.delete(key);
    else this.entries.set(key, entry);
    return changed;
  }

  #expire(key: string, untilMs: number): number {
    const entry = this.#find(key);
    if (entry === undefined) return 0;
    entry.untilMs = untilMs;
    return 1;
  }

  #set(key: string, value: string, options: readonly string[]): LuaValue {
    const before = this.#find(key);
    if (options.includes('NX') ? before !== undefined : options.includes('XX') && before === undefined) return null;
    const msOf = (unit: string, ms: number) =>
      options.includes(unit) ? this.#nowMs() + Number(options[options.indexOf(unit) + 1]) * ms : undefined;
    const keptMs = options.includes('KEEPTTL') ? before?.untilMs : undefined;
    this.entries.set(key, { value, untilMs: keptMs ?? msOf('PX', 1) ?? msOf('EX', 1000) ?? never });
    return 'OK';
  }

  readonly #commands: Readonly<Record<string, (...args: string[]) => LuaValue>> = {
    GET: (key = '') => this.#text(key),
    MGET: (...keys) => keys.map((key) => this.#text(key)),
    SET: (key = '', value = '', ...options) => this.#set(key, value, options),
    DEL: (...keys) => keys.filter((key) => this.#find(key) !== undefined && this.entries.delete(key)).length,
    EXISTS: (...keys) => keys.filter((key) => this.#find(key) !== undefined).length,
    EXPIRE: (key = '', seconds) => this.#expire(key, this.#nowMs() + Number(seconds) * 1000),
    PEXPIRE: (key = '', ms) => this.#expire(key, this.#nowMs() + Number(ms)),
    EXPIREAT: (key = '', seconds) => this.#expire(key, Number(seconds) * 1000),
    HGET: (key = '', field = '') => this.#hash(key).get(field) ?? null,
    HMGET: (key = '', ...fields) => fields.map((field) => this.#hash(key).get(field) ?? null),
    HGETALL: (key = '') => [...this.#hash(key)].flat(),
    HVALS: (key = '') => this.#values(key),
    HEXISTS: (key = '', field = '') => Number(this.#hash(key).has(field)),
    HSET: (key = '', ...pairs) =>
      this.#change<string>(key, (hash) => {
        const before = hash.size;
        for (let at = 0; at < pairs.length; at += 2) hash.set(pairs[at] ?? '', pairs[at + 1] ?? '');
        return hash.size - before;
      }),
    HDEL: (key = '', ...fields) =>
      this.#change<string>(key, (hash) => fields.filter((field) => hash.delete(field)).length),
    ZADD: (key = '', ...pairs) =>
      this.#change<number>(key, (scores) => {
        const before = scores.size;
        for (let at = 0; at < pairs.length; at += 2) scores.set(pairs[at + 1] ?? '', Number(pairs[at]));
        return scores.size - before;
      }),
    ZREM: (key = '', ...members) =>
      this.#change<number>(key, (scores) => members.filter((member) => scores.delete(member)).length),
    ZSCORE: (key = '', member = '') => textOf(this.#scores(key).get(member)),
    ZMSCORE: (key = '', ...members) => members.map((member) => textOf(this.#scores(key).get(member))),
    ZCOUNT: (key = '', from = '', to = '') => [...this.#scores(key).values()].filter(within(from, to)).length,
    ZREMRANGEBYSCORE: (key = '', from = '', to = '') =>
      this.#change<number>(key, (scores) => {
        const isGone = within(from, to);
        return [...scores].filter(([member, score]) => isGone(score) && scores.delete(member)).length;
      }),
    TIME: () => [String(Math.floor(this.#nowMs() / 1000)), String((this.#nowMs() % 1000) * 1000)],
    INFO: () => `run_id:${this.#runId}\r\nserver_time_usec:${this.#nowMs() * 1000}\r\n`,
  };
}

function isSettlement([, , settlement]: readonly string[]): boolean {
  return settlement === 'not_appended' || settlement === 'unknown';
}

function textOf(score: number | undefined): string | null {
  return score === undefined ? null : String(score);
}

/** `(5` is above 5; `-inf` and `+inf` are no bounds. */
function within(from: string, to: string): (score: number) => boolean {
  const boundOf = (text: string) => Number(text.replace('(', '').replace('inf', 'Infinity'));
  const [least, most] = [boundOf(from), boundOf(to)];
  return (score) => (from.startsWith('(') ? score > least : score >= least) && score <= most;
}

function copyOf(value: Entry['value']): Entry['value'] {
  return typeof value === 'string' ? value : (new Map<string, never>(value as Map<string, never>) as Entry['value']);
}
