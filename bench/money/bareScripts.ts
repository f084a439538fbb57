import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import type { Redis } from 'ioredis';

const ADMIT = `
redis.call('HSET', KEYS[5], 'level', ARGV[5], 'at', ARGV[5], 'arrival', ARGV[5])
redis.call('HINCRBY', KEYS[1], 'held', ARGV[2])
redis.call('HINCRBY', KEYS[3], 'held', ARGV[2])
redis.call('HINCRBY', KEYS[2], ARGV[4] .. ':held', ARGV[2])
redis.call('HSET', KEYS[6], 'kind', 'held', 'amount', ARGV[2], 'key', ARGV[3], 'month', ARGV[4], 'session', ARGV[5],
  'owner', ARGV[5], 'estimate', '10', 'rpm', '100', 'tpm', '100', 'admitted_at', ARGV[5], 'event', ARGV[6])
redis.call('HSET', KEYS[4], ARGV[1], ARGV[5])
return 1`;

const SETTLE = `
redis.call('HINCRBY', KEYS[1], 'held', '-' .. ARGV[2])
redis.call('HINCRBY', KEYS[3], 'held', '-' .. ARGV[2])
redis.call('HINCRBY', KEYS[2], ARGV[4] .. ':held', '-' .. ARGV[2])
redis.call('HINCRBY', KEYS[1], 'ended', ARGV[2])
redis.call('HINCRBY', KEYS[3], 'ended', ARGV[2])
redis.call('HINCRBY', KEYS[2], ARGV[4] .. ':ended', ARGV[2])
redis.call('HSET', KEYS[6], 'kind', 'ended', 'amount', ARGV[2], 'event', ARGV[6])
redis.call('HSET', KEYS[5], 'level', ARGV[5], 'at', ARGV[5])
return 1`;

const ABSORB = `
redis.call('HSET', KEYS[1], 'left', ARGV[1], 'timeline', '1', 'sequence', ARGV[1], 'loaded', ARGV[2])
redis.call('HSET', KEYS[2], ARGV[3] .. ':spent', '1', ARGV[3] .. ':timeline', '1', ARGV[3] .. ':sequence', ARGV[1], ARGV[3] .. ':loaded', ARGV[2])
redis.call('HSET', KEYS[3], 'spent', '1', 'timeline', '1', 'sequence', ARGV[1], 'loaded', ARGV[2])
local records, calls = {}, {}
for at = 5, #KEYS do records[at - 4], calls[at - 4] = KEYS[at], ARGV[at] end
redis.call('DEL', unpack(records))
redis.call('HDEL', KEYS[4], unpack(calls))
redis.call('HINCRBY', KEYS[1], 'ended', '-' .. ARGV[4])
redis.call('HINCRBY', KEYS[3], 'ended', '-' .. ARGV[4])
redis.call('HINCRBY', KEYS[2], ARGV[3] .. ':ended', '-' .. ARGV[4])
return 1`;

export interface BareCall {
  callId: string;
  keyId: string;
  workspaceId: string;
  amount: string;
  json: string;
}

type Run = (...args: (string | number)[]) => Promise<unknown>;

const TOKEN = '00000000-0000-4000-8000-000000000001';
const MONTH = '2026-11';

/** The writes that admission, settlement and absorb make, one script for each, with nothing read and nothing decided. */
export function bareScripts(redis: Redis) {
  for (const [name, lua] of Object.entries({ bareAdmit: ADMIT, bareSettle: SETTLE, bareAbsorb: ABSORB }))
    redis.defineCommand(name, { lua });
  const run = (name: string, keys: string[], args: string[]): Promise<unknown> =>
    (Reflect.get(redis, name) as Run).call(redis, keys.length, ...keys, ...args);
  return {
    admit: (call: BareCall) => run('bareAdmit', keysOf(call), argsOf(call)),
    settle: (call: BareCall) => run('bareSettle', keysOf(call), argsOf(call)),
    async absorb(calls: BareCall[]): Promise<void> {
      const [first] = calls;
      if (!first) return;
      const records = calls.map(({ workspaceId, callId }) => redisKeys.call(workspaceId, callId));
      const args = ['1000', TOKEN, MONTH, first.amount, ...calls.map(({ callId }) => callId)];
      await run('bareAbsorb', [...sumsOf(first), ...records], args);
    },
  };
}

const sumsOf = ({ workspaceId, keyId }: BareCall): string[] => [
  redisKeys.wallet(workspaceId),
  redisKeys.months(workspaceId),
  redisKeys.key(workspaceId, keyId),
  redisKeys.calls(workspaceId),
];

const keysOf = (call: BareCall): string[] => [
  ...sumsOf(call),
  redisKeys.rates(call.workspaceId, call.keyId),
  redisKeys.call(call.workspaceId, call.callId),
];

const argsOf = ({ callId, keyId, amount, json }: BareCall): string[] => [callId, amount, keyId, MONTH, TOKEN, json];
