import type { CompiledScript } from '../lua/compileLua.ts';
import { formatGeneral, LuaError, LuaTable, type LuaValue } from '../lua/luaRuntime.ts';
import type { RedisData, Reply } from './redisData.ts';

function toLua(reply: Reply): LuaValue {
  if (reply === null) return false;
  return Array.isArray(reply) ? new LuaTable(reply.map(toLua)) : reply;
}

function toReply(value: LuaValue): Reply {
  if (value === undefined || value === false) return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value);
  if (typeof value === 'string') return value;
  if (!(value instanceof LuaTable)) throw new LuaError('a script answered with a function');
  const end = value.items.indexOf(undefined);
  return (end === -1 ? value.items : value.items.slice(0, end)).map(toReply);
}

function toArgument(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatGeneral(value, 17);
  throw new LuaError('Lua redis lib command arguments must be strings or integers');
}

/** Runs a script on the data, all in one step, with Redis' own conversions between its values and Lua's. */
export function runScript(data: RedisData, script: CompiledScript, keys: string[], args: string[]): Reply {
  const redisCall = (command: LuaValue, ...rest: LuaValue[]): LuaValue[] => [
    toLua(data.run(toArgument(command), rest.map(toArgument))),
  ];
  return toReply(script(redisCall, keys, args));
}
