import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { TAG } from '@turnpike/holds/test/aShard';
import { startRedis, type TestRedis } from '@turnpike/test-support/startRedis';
import { Redis } from 'ioredis';
import { seededRandom } from '../../bench/seededRandom.ts';
import { type CompiledScript, compileLua } from './lua/compileLua.ts';
import { productScripts } from './redis/productScripts.ts';
import { RedisData, type Reply } from './redis/redisData.ts';
import { runScript } from './redis/runScript.ts';

// Compares the stand-in for Redis with a real Redis.

const SEQUENCES = 300;
const STEPS = 25;
const MARK = redisKeys.mark(TAG);
const LAYOUT = redisKeys.layout(TAG);
const KEY_IDS = ['a', 'b'];
const CALL_IDS = ['c1', 'c2', 'c3'];

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

interface Step {
  script: string;
  keys: string[];
  args: string[];
}

/**
 * A random script with random arguments, few of each kind, so that they meet each other's traces. Nothing it makes expires
 * within seconds: of what does, the two would not have to agree.
 */
function aStep(share: () => number, sequence: number, redisId: string): Step {
  const pick = <T>(choices: T[]): T => choices[Math.floor(share() * choices.length)] as T;
  const whole = (most: number): string => String(Math.floor(share() * most));
  const ws = `{ws_${sequence}}`;
  const [keyId, callId] = [pick(KEY_IDS), pick(CALL_IDS)];
  const markOf = (server: string, letter: string): string => `${server}:${TAG}:${letter.repeat(36)}`;
  const inForce = markOf(redisId, 'm');
  const mark = share() < 0.95 ? inForce : pick([markOf(redisId, 'n'), markOf('f'.repeat(40), 'm')]);
  const head = [`${ws}:nothing`];
  const key = `${ws}:key:${keyId}`;
  const session = pick(['s1', 's2', 's1', 'lapsed']);
  const limits = [String(100 + Math.floor(share() * 300)), pick(['1', '7']), pick(['3', '600'])];
  const [estimate, rpmLimit, tpmLimit] = limits as [string, string, string];
  const [final, unknown] = [whole(2), whole(2)];
  const steps: Record<string, Pick<Step, 'keys' | 'args'>> = {
    admit: {
      keys: head,
      args: [
        mark,
        callId,
        whole(3),
        rpmLimit,
        tpmLimit,
        estimate,
        whole(400_000),
        pick(['', '700000']),
        pick(['', '900000']),
        session,
        '{"e":1}',
        keyId,
        'r1',
        pick(['', '', '', 'account_on_hold']),
      ],
    },
    extend: {
      keys: head,
      args: [
        mark,
        callId,
        whole(4_000_000),
        whole(3),
        pick(['', '700000']),
        pick(['', '900000']),
        session,
        '{"e":4}',
        pick(['', '', '', 'account_on_hold']),
      ],
    },
    absorb: {
      keys: head,
      args: [
        mark,
        pick(['1', '1', '2']),
        whole(9),
        String(Math.floor(share() * 3_000_000) - 100_000),
        '2',
        '1',
        final,
        unknown,
        '2026-11',
        whole(9_000),
        '2026-12',
        whole(90),
        keyId,
        whole(9_000),
        pick(['0', '1']),
        ...(final === '1' ? ['2026-11-01', '700'] : ['', '0']),
        ...CALL_IDS.slice(0, Number(final)),
        ...(unknown === '1' ? [callId, session] : []),
      ],
    },
    putBack: {
      keys: head,
      args: [
        mark,
        pick(['r1', 'r2']),
        whole(9),
        session,
        '1',
        callId,
        pick(['held', 'ended']),
        whole(400_000),
        keyId,
        pick(['2026-10', '2026-11']),
        estimate,
        rpmLimit,
        tpmLimit,
        '1790000000000',
        '{"e":2}',
      ],
    },
    settle: {
      keys: head,
      args: [mark, callId, whole(300_000), pick(['', String(500 + Math.floor(share() * 1_500))]), '{"e":3}'],
    },
    claim: { keys: [`${ws}:claimed`], args: [pick(['r1', 'r2']), '600000'] },
    release: { keys: head, args: [mark, callId, '600000'] },
    setMark: {
      keys: [MARK, LAYOUT],
      args: [
        pick([inForce, inForce, mark]),
        pick(['0', '4102444800000']),
        pick(['1', '1', '2']),
        ...pick([[], ['7', '8']]),
      ],
    },
    raiseGeneration: {
      keys: [key],
      args: [whole(3), pick(['', '', '', '', 'active', 'blocked', 'blocked', 'revoked'])],
    },
    setBackGeneration: { keys: [key], args: [whole(3), whole(3)] },
  };
  const script = pick(['admit', 'admit', 'absorb', ...productScripts.keys()]);
  return { script, ...(steps[script] ?? { keys: [], args: [] }) };
}

/** The names that the scripts make for a workspace. */
const namesOf = (workspaceId: string): string[] => [
  `{${workspaceId}}:nothing`,
  ...[redisKeys.wallet, redisKeys.months, redisKeys.calls, redisKeys.keys, redisKeys.owners].map((name) =>
    name(workspaceId),
  ),
  ...KEY_IDS.flatMap((keyId) => [redisKeys.key(workspaceId, keyId), redisKeys.rates(workspaceId, keyId)]),
  ...CALL_IDS.map((callId) => redisKeys.call(workspaceId, callId)),
];

/** Everything that Redis holds of a sequence; lives to the tenth of a second, as they depend on when they are asked for. */
const DUMP = `
local out = {}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  local value = {}
  if kind == 'hash' then value = redis.call('HGETALL', key) end
  if kind == 'string' then value = { redis.call('GET', key) } end
  if kind == 'set' then value = redis.call('SMEMBERS', key) end
  out[#out + 1] = { kind, value }
end
return out`;

it('answers thousands of random scripts and leaves the data as the real Redis does, to the letter', async () => {
  const redisId = /master_replid:([0-9a-f]{40})/.exec(await redis.info('replication'))?.[1] ?? '';
  let clockUs = 0;
  const data = new RedisData({ clockUs: () => clockUs, replicationId: redisId });
  for (const session of ['s1', 's2']) {
    const command = [redisKeys.session(TAG, session), 'r1'] as const;
    await redis.set(...command);
    data.run('SET', [...command]);
  }
  const compiled = new Map([...productScripts].map(([name, source]) => [name, compileLua(source)]));
  const outcomes = new Map<string, number>();
  for (let sequence = 0; sequence < SEQUENCES; sequence += 1) {
    const share = seededRandom(sequence);
    const names = namesOf(`ws_${sequence}`);
    for (let nth = 0; nth < STEPS; nth += 1) {
      const { script, keys, args } = aStep(share, sequence, redisId);
      // Something is lost alone: evicted, or deleted by hand.
      const lost = share() < 0.1 ? names[Math.floor(share() * names.length)] : undefined;
      if (lost !== undefined) {
        await redis.del(lost);
        data.run('DEL', [lost]);
      }
      // The clock of the real one, read just before, is written into both scripts.
      const [seconds = '0', micros = '0'] = (await redis.time()).map(String);
      clockUs = Number(seconds) * 1e6 + Number(micros);
      const source = (productScripts.get(script) ?? '').replaceAll(
        "redis.call('TIME')",
        `{ '${seconds}', '${micros}' }`,
      );
      const real = (await redis.eval(source, keys.length, ...keys, ...args)) as Reply;
      const simulated = runScript(data, compiled.get(script) as CompiledScript, keys, args);
      expect({ sequence, nth, script, args, reply: simulated }).toEqual({ sequence, nth, script, args, reply: real });
      const outcome = `${script} ${Array.isArray(real) ? real[0] : real}`;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    const all = [MARK, LAYOUT, ...names];
    const dumped = (await redis.eval(DUMP, all.length, ...all)) as [string, string[]][];
    const expected = all.map((key, at) => [key, inOrder(...(dumped[at] ?? ['none', []]))]);
    expect(
      all.map((key, at) => [key, inOrder(dumped[at]?.[0] ?? 'none', readAll(data, key, dumped[at]?.[0]))]),
    ).toEqual(expected);
  }
  // Every possible outcome of a script has occurred.
  for (const outcome of [
    'admit admitted',
    'admit insufficient',
    'admit rate_limited',
    'admit repeated',
    'admit stale_key',
    'admit not_loaded',
    'admit closed',
    'admit not_billable',
    'extend extended',
    'extend insufficient',
    'extend not_held',
    'extend not_loaded',
    'extend closed',
    'extend stale_key',
    'extend not_billable',
    'settle held',
    'settle unlisted',
    'settle ended',
    'settle released',
    'settle none',
    'release 1',
    'release 0',
    'claim 1',
    'claim 0',
    'absorb absorbed',
    'absorb closed',
    'putBack back',
    'putBack recounted',
    'putBack late',
    'putBack closed',
    'setBackGeneration set_back',
    'setBackGeneration kept_out',
    'setBackGeneration changed',
    'setMark marked',
    'setMark other_redis',
    'setMark other_layout',
    'setMark too_late',
  ])
    expect([outcome, outcomes.get(outcome) ?? 0]).not.toEqual([outcome, 0]);
});

function readAll(data: RedisData, key: string, kind = 'none'): string[] {
  if (kind === 'hash') return data.run('HGETALL', [key]) as string[];
  if (kind === 'string') return [data.run('GET', [key]) as string];
  if (kind === 'set') return data.run('SMEMBERS', [key]) as string[];
  return data.run('EXISTS', [key]) === 1 ? ['something'] : [];
}

/** Sorts values without an order. */
function inOrder(kind: string, value: string[]): string[] {
  if (kind === 'set') return value.toSorted();
  if (kind !== 'hash') return value;
  return value.flatMap((name, at) => (at % 2 ? [] : [`${name}=${value[at + 1]}`])).toSorted();
}
