import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import type { Redis } from 'ioredis';

/** The reads before an admission: whether the call is new, whose Redis this is, and the limits of its key and workspace. */
const ADMIT_READS = `
redis.call('TIME')
redis.call('EXISTS', KEYS[6])
redis.call('HMGET', KEYS[3], 'generation', 'loaded', 'spent', 'held', 'ended', 'status')
redis.call('HMGET', KEYS[5], 'level', 'at', 'arrival')
redis.call('GET', KEYS[7])
redis.call('INFO', 'replication')
redis.call('HMGET', KEYS[1], 'loaded', 'left', 'held', 'ended')
redis.call('PTTL', KEYS[5])`;

const ADMIT = `
redis.call('HSET', KEYS[5], 'level', ARGV[5], 'at', ARGV[5], 'arrival', ARGV[5])
redis.call('HINCRBY', KEYS[1], 'held', ARGV[2])
redis.call('HINCRBY', KEYS[3], 'held', ARGV[2])
redis.call('HINCRBY', KEYS[2], ARGV[4] .. ':held', ARGV[2])
redis.call('HSET', KEYS[6], 'kind', 'held', 'amount', ARGV[2], 'key', ARGV[3], 'month', ARGV[4], 'session', ARGV[5],
  'owner', ARGV[5], 'estimate', '10', 'rpm', '100', 'tpm', '100', 'admitted_at', ARGV[5], 'event', ARGV[6])
redis.call('HSET', KEYS[4], ARGV[1], ARGV[5])
return 1`;

const SETTLE_READS = `
redis.call('HMGET', KEYS[6], 'kind', 'amount', 'key', 'month', 'estimate', 'tpm', 'session')
redis.call('HEXISTS', KEYS[4], ARGV[1])
redis.call('TIME')
redis.call('HMGET', KEYS[5], 'level', 'at')
redis.call('PTTL', KEYS[5])`;

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

const ABSORB_READS = `
redis.call('GET', KEYS[#KEYS])
redis.call('INFO', 'replication')
redis.call('HMGET', KEYS[1], 'loaded', 'timeline', 'sequence', 'held')
redis.call('HMGET', KEYS[2], ARGV[3] .. ':loaded', ARGV[3] .. ':timeline', ARGV[3] .. ':sequence')
redis.call('HMGET', KEYS[3], 'loaded', 'timeline', 'sequence', 'held')
for at = 5, #KEYS - 1 do redis.call('HMGET', KEYS[at], 'kind', 'amount', 'key', 'month') end
redis.call('PTTL', KEYS[1])
redis.call('PTTL', KEYS[3])`;

const ABSORB = `
redis.call('HSET', KEYS[1], 'left', ARGV[1], 'timeline', '1', 'sequence', ARGV[1], 'loaded', ARGV[2])
redis.call('HSET', KEYS[2], ARGV[3] .. ':spent', '1', ARGV[3] .. ':timeline', '1', ARGV[3] .. ':sequence', ARGV[1], ARGV[3] .. ':loaded', ARGV[2])
redis.call('HSET', KEYS[3], 'spent', '1', 'timeline', '1', 'sequence', ARGV[1], 'loaded', ARGV[2])
local records, calls = {}, {}
for at = 5, #KEYS - 1 do records[at - 4], calls[at - 4] = KEYS[at], ARGV[at] end
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
const MARK = redisKeys.mark('bare');

/**
 * The writes of admission, settlement and absorb, one script for each, without decisions. With `withReads` the scripts first read what the
 * real ones read of an admitted call.
 */
export function bareScripts(redis: Redis, { withReads }: { withReads: boolean }) {
  const define = (name: string, reads: string, writes: string) => {
    const own = withReads ? `${name}WithReads` : name;
    redis.defineCommand(own, { lua: withReads ? reads + writes : writes });
    return (keys: string[], args: string[]): Promise<unknown> =>
      (Reflect.get(redis, own) as Run).call(redis, keys.length + 1, ...keys, MARK, ...args);
  };
  const admit = define('bareAdmit', ADMIT_READS, ADMIT);
  const settle = define('bareSettle', SETTLE_READS, SETTLE);
  const absorb = define('bareAbsorb', ABSORB_READS, ABSORB);
  const refuse = define('bareRefuse', ADMIT_READS, '\nreturn 1');
  return {
    /** Writes nothing, as a call that is refused does. */
    refuse: (call: BareCall) => refuse(keysOf(call), argsOf(call)),
    admit: (call: BareCall) => admit(keysOf(call), argsOf(call)),
    settle: (call: BareCall) => settle(keysOf(call), argsOf(call)),
    async absorb(calls: BareCall[]): Promise<void> {
      const [first] = calls;
      if (!first) return;
      const records = calls.map(({ workspaceId, callId }) => redisKeys.call(workspaceId, callId));
      const args = ['1000', TOKEN, MONTH, first.amount, ...calls.map(({ callId }) => callId)];
      await absorb([...sumsOf(first), ...records], args);
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
