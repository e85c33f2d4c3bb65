import { LUA_REGISTRYINDEX, LuaFactory, LuaType } from 'wasmoon';

/** What `redis.call` answers a script, and a script its caller: null is Lua's false. */
export type LuaValue = string | number | null | readonly LuaValue[];

export type RedisCall = (name: string, ...args: readonly string[]) => LuaValue;

/** Lua's own functions, without the package's wrappers: those take longer than the scripts. */
interface Lua {
  /** Of the machine's memory; another one once that has grown. */
  readonly HEAPU8: Uint8Array<ArrayBuffer>;
  readonly _malloc: (bytes: number) => number;
  readonly _lua_absindex: (state: number, at: number) => number;
  readonly _lua_error: (state: number) => number;
  readonly _lua_createtable: (state: number, items: number, fields: number) => void;
  readonly _lua_gettop: (state: number) => number;
  readonly _lua_pcallk: (state: number, args: number, results: number, h: number, context: number, k: number) => number;
  readonly _lua_pushboolean: (state: number, value: number) => void;
  readonly _lua_pushinteger: (state: number, value: bigint) => void;
  readonly _lua_pushlstring: (state: number, text: number, bytes: number) => number;
  readonly _lua_rawgeti: (state: number, at: number, index: bigint) => number;
  readonly _lua_rawlen: (state: number, at: number) => bigint;
  readonly _lua_rawseti: (state: number, at: number, index: bigint) => void;
  readonly _lua_settop: (state: number, top: number) => void;
  readonly _lua_toboolean: (state: number, at: number) => number;
  readonly _lua_tolstring: (state: number, at: number, bytes: number) => number;
  readonly _lua_tonumberx: (state: number, at: number, isNumber: number) => number;
  readonly _lua_type: (state: number, at: number) => number;
}

const TEXT_BYTES_MAX = 1_048_576;
const wrapped = await new LuaFactory().getLuaModule();
const lua = wrapped.module as unknown as Lua;
const state = wrapped.luaL_newstate();
const encoder = new TextEncoder();
/** A text on its way into the machine. */
const textAt = lua._malloc(TEXT_BYTES_MAX);
const compiled = new Map<string, bigint>();
let call: RedisCall;
let failure: unknown;

wrapped.luaL_openlibs(state);
wrapped.lua_createtable(state, 0, 1);
wrapped.lua_pushcclosure(
  state,
  wrapped.module.addFunction(() => answerCall(), 'ii'),
  0,
);
wrapped.lua_setfield(state, -2, 'call');
wrapped.lua_setglobal(state, 'redis');
// Redis has Lua 5.1.
wrapped.luaL_loadstring(state, 'unpack = table.unpack');
wrapped.lua_pcallk(state, 0, 0, 0, 0, null);

/** Runs a script of Redis to its end. Throws what `redis.call` has thrown, and for a mistake in the script. */
export function runLua(text: string, keys: readonly string[], args: readonly string[], redisCall: RedisCall): unknown {
  call = redisCall;
  failure = undefined;
  push(keys);
  wrapped.lua_setglobal(state, 'KEYS');
  push(args);
  wrapped.lua_setglobal(state, 'ARGV');
  lua._lua_rawgeti(state, LUA_REGISTRYINDEX, compile(text));
  const hasFailed = lua._lua_pcallk(state, 0, 1, 0, 0, 0) !== 0;
  const answer = read(-1);
  lua._lua_settop(state, 0);
  if (hasFailed) throw failure ?? new Error(`ERR Error running script: ${answer}`);
  return answer;
}

function compile(text: string): bigint {
  let script = compiled.get(text);
  if (script === undefined) {
    if (wrapped.luaL_loadstring(state, text) !== 0) throw new Error(`ERR Error compiling script: ${read(-1)}`);
    script = BigInt(wrapped.luaL_ref(state, LUA_REGISTRYINDEX));
    compiled.set(text, script);
  }
  return script;
}

function answerCall(): number {
  const [name = '', ...args] = Array.from({ length: lua._lua_gettop(state) }, (_, index) => String(read(index + 1)));
  try {
    push(call(name, ...args));
    return 1;
  } catch (error) {
    failure = error;
    push(String(error));
    return lua._lua_error(state);
  }
}

function push(value: LuaValue): void {
  if (value === null) lua._lua_pushboolean(state, 0);
  else if (typeof value === 'string') pushText(value);
  else if (typeof value === 'number') lua._lua_pushinteger(state, BigInt(value));
  else {
    lua._lua_createtable(state, value.length, 0);
    for (const [index, item] of value.entries()) {
      push(item);
      lua._lua_rawseti(state, -2, BigInt(index + 1));
    }
  }
}

function pushText(text: string): void {
  const { read: taken, written } = encoder.encodeInto(text, lua.HEAPU8.subarray(textAt, textAt + TEXT_BYTES_MAX));
  if (taken < text.length) throw new Error(`a text of ${text.length} characters is too long for a script`);
  lua._lua_pushlstring(state, textAt, written);
}

/** As Redis converts it: a table up to its first nil, and a number as a client gets it, without a fraction. */
function read(place: number): LuaValue {
  const at = lua._lua_absindex(state, place);
  switch (lua._lua_type(state, at)) {
    case LuaType.String: {
      const from = lua._lua_tolstring(state, at, 0);
      return Buffer.from(lua.HEAPU8.buffer, from, Number(lua._lua_rawlen(state, at))).toString();
    }
    case LuaType.Number:
      return Math.trunc(lua._lua_tonumberx(state, at, 0));
    case LuaType.Boolean:
      return lua._lua_toboolean(state, at) === 0 ? null : 1;
    case LuaType.Table: {
      const items: LuaValue[] = [];
      for (let index = 1n; lua._lua_rawgeti(state, at, index) !== LuaType.Nil; index += 1n) {
        items.push(read(-1));
        lua._lua_settop(state, -2);
      }
      lua._lua_settop(state, -2);
      return items;
    }
    default:
      return null;
  }
}
