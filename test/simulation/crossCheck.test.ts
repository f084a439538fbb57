import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { startRedis, type TestRedis } from '@turnpike/test-support/startRedis';
import { Redis } from 'ioredis';
import { seededRandom } from '../../bench/seededRandom.ts';
import { addCredit } from '../../services/usage-ledger/src/credits/addCredit.ts';
import { getBalances } from '../../services/usage-ledger/src/credits/getBalances.ts';
import type { Db } from '../../services/usage-ledger/src/database/createDb.ts';
import { inTransaction } from '../../services/usage-ledger/src/database/inTransaction.ts';
import { ensureUsagePartitions } from '../../services/usage-ledger/src/ledger/ensureUsagePartitions.ts';
import { recordUsage } from '../../services/usage-ledger/src/ledger/recordUsage.ts';
import { openTestLedger, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import { SimulatedDatabase } from './ledger/simulatedDatabase.ts';
import { compileLua } from './lua/compileLua.ts';
import { productScripts } from './redis/productScripts.ts';
import { RedisData, type Reply } from './redis/redisData.ts';
import { runScript } from './redis/runScript.ts';
import { World } from './world/world.ts';

// What stands in for Redis and for the ledger's Postgres does what they do.

const SEQUENCES = 300;
const STEPS = 25;

let server: TestRedis;
let redis: Redis;
let ledger: TestLedger;
beforeAll(async () => {
  [server, ledger] = await Promise.all([startRedis(), openTestLedger()]);
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all([server.stop(), ledger.close()]);
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
  const [keyId, callId] = [pick(['a', 'b']), pick(['c1', 'c2', 'c3'])];
  const [wallet, key, months, tpm, call, calls, rpm, keys] = [
    'wallet',
    `key:${keyId}`,
    'months',
    `tpm:${keyId}`,
    `call:${callId}`,
    'calls',
    `rpm:${keyId}`,
    'keys',
  ].map((name) => `${ws}:${name}`) as [string, string, string, string, string, string, string, string];
  const workspaceId = `ws_${sequence}`;
  const ending = [wallet, key, months, tpm, call, calls, rpm, 'workspaces'];
  const [epoch, id, hold] = [pick(['1', '1', '1', '2']), share() < 0.95 ? redisId : 'f'.repeat(40), whole(400_000)];
  const [rpmLimit, tpmLimit] = [pick(['1', '7']), pick(['3', '600'])];
  const steps: Record<string, Pick<Step, 'keys' | 'args'>> = {
    admit: {
      keys: [wallet, key, months, rpm, tpm, call, calls, keys, 'workspaces'],
      args: [
        callId,
        whole(3),
        rpmLimit,
        tpmLimit,
        String(100 + Math.floor(share() * 300)),
        hold,
        pick(['', '700000']),
        pick(['', '900000']),
        pick(['0', '60000']),
        '{"e":1}',
        epoch,
        id,
        keyId,
        'r1',
        pick(['', '', '', 'account_on_hold']),
        workspaceId,
      ],
    },
    assertCall: {
      keys: [wallet, key, months, call, calls, keys, 'workspaces'],
      args: [
        callId,
        epoch,
        id,
        keyId,
        'r1',
        hold,
        pick(['2026-10', '2026-11']),
        whole(300),
        rpmLimit,
        tpmLimit,
        '1790000000000',
        '{"e":2}',
        pick(['0', '60000']),
        pick(['0', '1']),
        whole(9),
        workspaceId,
      ],
    },
    findEndedLeases: { keys: [calls, 'workspaces'], args: [workspaceId, pick(['0', '0', '1']), pick(['1', '9'])] },
    forgetSwept: { keys: [call, calls], args: [callId, '604800000', pick(['swept', 'settled']), '60000'] },
    loadBalances: {
      keys: [wallet, months, keys, 'epoch', `${ws}:key:a`, call],
      args: [
        epoch,
        id,
        whole(4),
        whole(3_000_000),
        whole(100_000),
        whole(9),
        '2',
        '1',
        `${ws}:key:`,
        '2026-11',
        whole(9_000),
        '2026-12',
        whole(90),
        'a',
        whole(9_000),
        pick(['0', '1']),
      ],
    },
    markEpoch: { keys: ['epoch'], args: ['1', id, pick(['0', '4102444800000'])] },
    raiseGeneration: { keys: [key], args: [whole(3)] },
    release: { keys: ending, args: [callId, '600000'] },
    renewLease: { keys: [call, calls], args: [callId, pick(['0', '60000']), epoch] },
    settle: {
      keys: ending,
      args: [
        callId,
        whole(300_000),
        String(500 + Math.floor(share() * 1_500)),
        '{"e":3}',
        pick(['0', '1']),
        pick(['0', '60000']),
        epoch,
        '60000',
        workspaceId,
      ],
    },
    sweepCall: { keys: ending, args: [callId, pick(['0', '60000']), epoch] },
  };
  const script = pick(['admit', 'admit', 'loadBalances', ...productScripts.keys()]);
  return { script, ...(steps[script] ?? { keys: [], args: [] }) };
}

/** Everything that Redis holds of a sequence; lives to the tenth of a second, as they depend on when they are asked for. */
const DUMP = `
local out = {}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  local value = {}
  if kind == 'hash' then value = redis.call('HGETALL', key) end
  if kind == 'string' then value = { redis.call('GET', key) } end
  if kind == 'set' then value = redis.call('SMEMBERS', key) end
  if kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  out[#out + 1] = { kind, value }
end
return out`;

it('answers thousands of random scripts and leaves the data as the real Redis does, to the letter', async () => {
  const redisId = /master_replid:([0-9a-f]{40})/.exec(await redis.info('replication'))?.[1] ?? '';
  await redis.set('epoch', '1');
  let clockUs = 0;
  const data = new RedisData({ clockUs: () => clockUs, replicationId: redisId });
  data.run('SET', ['epoch', '1']);
  const outcomes = new Map<string, number>();
  for (let sequence = 0; sequence < SEQUENCES; sequence += 1) {
    const share = seededRandom(sequence);
    const touched = new Set<string>();
    for (let nth = 0; nth < STEPS; nth += 1) {
      const { script, keys, args } = aStep(share, sequence, redisId);
      for (const key of keys) touched.add(key);
      // The clock of the real one, read just before, is written into both scripts.
      const [seconds = '0', micros = '0'] = (await redis.time()).map(String);
      clockUs = Number(seconds) * 1e6 + Number(micros);
      const source = (productScripts.get(script) ?? '').replaceAll(
        "redis.call('TIME')",
        `{ '${seconds}', '${micros}' }`,
      );
      const real = (await redis.eval(source, keys.length, ...keys, ...args)) as Reply;
      const simulated = runScript(data, compileLua(productScripts.get(script) ?? ''), keys, args);
      expect({ sequence, nth, script, args, reply: simulated }).toEqual({ sequence, nth, script, args, reply: real });
      const outcome = `${script} ${Array.isArray(real) ? real[0] : real}`;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    const names = [...touched];
    const dumped = (await redis.eval(DUMP, names.length, ...names)) as [string, string[]][];
    const expected = names.map((key, at) => [key, inOrder(...(dumped[at] ?? ['none', []]))]);
    expect(
      names.map((key, at) => [key, inOrder(dumped[at]?.[0] ?? 'none', readAll(data, key, dumped[at]?.[0]))]),
    ).toEqual(expected);
  }
  // Whatever a script may answer has been answered.
  for (const outcome of [
    'admit admitted',
    'admit insufficient',
    'admit rate_limited',
    'admit repeated',
    'admit stale_key',
    'admit not_loaded',
    'admit other_redis',
    'admit not_billable',
    'settle held',
    'settle swept',
    'settle settled',
    'settle released',
    'settle done',
    'settle other_epoch',
    'findEndedLeases c1',
    'findEndedLeases undefined',
    'sweepCall held',
    'sweepCall settled',
    'sweepCall swept',
    'release 1',
    'renewLease held',
    'renewLease lost',
    'renewLease none',
    'renewLease other_epoch',
    'assertCall asserted',
    'assertCall known',
    'loadBalances changed',
    'markEpoch marked',
    'markEpoch other_redis',
    'markEpoch too_late',
    'loadBalances emptied',
  ])
    expect([outcome, outcomes.get(outcome) ?? 0]).not.toEqual([outcome, 0]);
}, 120_000);

function readAll(data: RedisData, key: string, kind = 'none'): string[] {
  if (kind === 'hash') return data.run('HGETALL', [key]) as string[];
  if (kind === 'string') return [data.run('GET', [key]) as string];
  if (kind === 'set') return data.run('SMEMBERS', [key]) as string[];
  if (kind === 'zset') return data.run('ZRANGE', [key, '0', '-1', 'WITHSCORES']) as string[];
  return data.run('EXISTS', [key]) === 1 ? ['something'] : [];
}

/** What has no order is sorted. */
function inOrder(kind: string, value: string[]): string[] {
  if (kind === 'set') return value.toSorted();
  if (kind !== 'hash') return value;
  return value.flatMap((name, at) => (at % 2 ? [] : [`${name}=${value[at + 1]}`])).toSorted();
}

it('records random batches as the ledger’s function in Postgres does', async () => {
  const share = seededRandom(7);
  const pick = <T>(choices: T[]): T => choices[Math.floor(share() * choices.length)] as T;
  const world = new World(1);
  const database = new SimulatedDatabase(world);
  const workspaces = ['w1', 'w2'];
  const startedAtMs = Date.UTC(2026, 9, 31, 23, 59, 58);
  const calls = Array.from({ length: 60 }, (_, nth) =>
    aUsageRecorded({ keyId: `k${nth % 4}`, workspaceId: `w${(nth % 2) + 1}`, startedAtMs: startedAtMs + nth * 100 }),
  );
  await ensureUsagePartitions(
    ledger.db,
    calls.map((call) => new Date(call.startedAtMs)),
  );
  const batches: UsageRecorded[][] = Array.from({ length: 120 }, () => {
    const chosen = new Set(Array.from({ length: 1 + Math.floor(share() * 8) }, () => pick(calls)));
    return [...chosen].map((call) => {
      const status = pick(['success', 'failure', 'unknown'] as const);
      const tokens = status === 'success' ? Math.floor(share() * 500) : 0;
      return {
        ...call,
        status,
        promptTokens: tokens,
        cachedPromptTokens: 0,
        completionTokens: tokens,
        chargeNanoUsd: BigInt(tokens) * 100n,
      };
    });
  });
  async function live(db: Db): Promise<unknown[]> {
    const seen: unknown[] = [];
    for (const [nth, batch] of batches.entries()) {
      seen.push(await inTransaction(db, (tx) => recordUsage(tx, 'test', batch)));
      const workspaceId = workspaces[nth % 2] ?? '';
      if (nth % 10 === 0)
        seen.push(
          await addCredit(db, {
            creditId: `c${nth % 30}-${workspaceId}`,
            workspaceId,
            amountNanoUsd: 5_000n,
            note: 'test',
          }),
        );
      const { creditSeq: _, ...balances } = await getBalances(db, {
        workspaceId,
        month: nth % 3 === 0 ? '2026-10' : '2026-11',
      });
      seen.push(balances);
    }
    return seen;
  }
  const real = await live(ledger.db);
  let simulated: unknown[] = [];
  await world.run(async () => {
    simulated = await live(database.asDb());
  }, 600_000);
  expect(simulated).toEqual(real);
}, 60_000);
