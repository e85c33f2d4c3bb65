import { LUA_REGISTRYINDEX, LuaFactory, LuaType } from 'wasmoon';

/** What `redis.call` answers a script, and a script its caller: null is Lua's false. */
export type LuaValue = string | number | null | readonly LuaValue[];

export type RedisCall = (name: string, ...args: readonly string[]) => LuaValue;

const lua = await new LuaFactory().getLuaModule();
const state = lua.luaL_newstate();
const compiled = new Map<string, bigint>();
let call: RedisCall;
let failure: unknown;

lua.luaL_openlibs(state);
lua.lua_createtable(state, 0, 1);
lua.lua_pushcclosure(
  state,
  lua.module.addFunction(() => answerCall(), 'ii'),
  0,
);
lua.lua_setfield(state, -2, 'call');
lua.lua_setglobal(state, 'redis');
// Redis has Lua 5.1.
lua.luaL_loadstring(state, 'unpack = table.unpack');
lua.lua_pcallk(state, 0, 0, 0, 0, null);

/** Runs a script of Redis to its end. Throws what `redis.call` has thrown, and for a mistake in the script. */
export function runLua(text: string, keys: readonly string[], args: readonly string[], redisCall: RedisCall): unknown {
  call = redisCall;
  failure = undefined;
  push(keys);
  lua.lua_setglobal(state, 'KEYS');
  push(args);
  lua.lua_setglobal(state, 'ARGV');
  lua.lua_rawgeti(state, LUA_REGISTRYINDEX, compile(text));
  const hasFailed = lua.lua_pcallk(state, 0, 1, 0, 0, null) !== 0;
  const answer = read(-1);
  lua.lua_settop(state, 0);
  if (hasFailed) throw failure ?? new Error(`ERR Error running script: ${answer}`);
  return answer;
}

function compile(text: string): bigint {
  let script = compiled.get(text);
  if (script === undefined) {
    if (lua.luaL_loadstring(state, text) !== 0) throw new Error(`ERR Error compiling script: ${read(-1)}`);
    script = BigInt(lua.luaL_ref(state, LUA_REGISTRYINDEX));
    compiled.set(text, script);
  }
  return script;
}

function answerCall(): number {
  const [name = '', ...args] = Array.from({ length: lua.lua_gettop(state) }, (_, index) => String(read(index + 1)));
  try {
    push(call(name, ...args));
    return 1;
  } catch (error) {
    failure = error;
    push(String(error));
    return lua.lua_error(state);
  }
}

function push(value: LuaValue): void {
  if (value === null) lua.lua_pushboolean(state, 0);
  else if (typeof value === 'string') lua.lua_pushstring(state, value);
  else if (typeof value === 'number') lua.lua_pushinteger(state, BigInt(value));
  else {
    lua.lua_createtable(state, value.length, 0);
    for (const [index, item] of value.entries()) {
      push(item);
      lua.lua_rawseti(state, -2, BigInt(index + 1));
    }
  }
}

/** As Redis converts it: a table up to its first nil, and a number as a client gets it, without a fraction. */
function read(place: number): LuaValue {
  const at = lua.lua_absindex(state, place);
  switch (lua.lua_type(state, at)) {
    case LuaType.String:
      return lua.lua_tolstring(state, at, null);
    case LuaType.Number:
      return Math.trunc(lua.lua_tonumberx(state, at, null));
    case LuaType.Boolean:
      return lua.lua_toboolean(state, at) === 0 ? null : 1;
    case LuaType.Table: {
      const items: LuaValue[] = [];
      for (let index = 1n; lua.lua_rawgeti(state, at, index) !== LuaType.Nil; index += 1n) {
        items.push(read(-1));
        lua.lua_settop(state, -2);
      }
      lua.lua_settop(state, -2);
      return items;
    }
    default:
      return null;
  }
}
