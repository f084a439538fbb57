import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { v7 as uuidv7 } from 'uuid';
import { aKeyRecord } from '../../../test/aKeyRecord.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { type CallEndings, createCallEndings } from '../call/endCall.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { type Admission, createAdmit } from './admit.ts';

const admitScript = readFileSync(new URL('./admit.lua', import.meta.url), 'utf8');
const AMPLE = 10n ** 12n;
const kept = { isSafe: false, keepMs: 60_000 };
const safe = { isSafe: true, keepMs: 0 };

let opened: OpenedRedis;
let endings: CallEndings;
let admit: ReturnType<typeof createAdmit>;
beforeAll(async () => {
  opened = await openTestRedis();
  endings = createCallEndings(opened.redis, opened);
  admit = createAdmit(opened.redis, { epoch: opened.epoch, routerId: 'router-1' });
});
afterAll(() => opened.close());

async function aFundedKey(creditedNanoUsd: bigint, fields: Parameters<typeof aKeyRecord>[0] = {}): Promise<KeyRecord> {
  const key = aKeyRecord(fields);
  await opened.credit(key.workspace.workspaceId, creditedNanoUsd);
  return key;
}

const ask = (key: KeyRecord, holdNanoUsd: bigint, { leaseMs = 60_000, callId = uuidv7() } = {}): Promise<Admission> =>
  admit({ callId, key, holdNanoUsd, estimatedPromptTokens: 1, leaseMs, unknownEventJson: '{}' });

async function aHeldCall(key: KeyRecord, { chargeNanoUsd = 300n, holdNanoUsd = 1_000n, leaseMs = 60_000 } = {}) {
  const { workspaceId } = key.workspace;
  const event = aUsageRecorded({ keyId: key.keyId, workspaceId, chargeNanoUsd, holdNanoUsd });
  expect(await ask(key, holdNanoUsd, { leaseMs, callId: event.callId })).toMatchObject({ outcome: 'admitted' });
  return { event, json: toUsageRecordedJson(event) };
}

/**
 * The admit script 200 times, one after the other as Redis runs scripts anyhow, on balances for ten calls; answers how often
 * each outcome came, and what the books say. A round of it is one command, so that there can be many.
 */
const roundScript = `
local admit = function(KEYS, ARGV)
${admitScript}
end
local counts = {}
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[7])
redis.call('HSET', KEYS[1], 'epoch', ARGV[11], 'credited', ARGV[17])
for nth = 1, 200 do
  KEYS[6], ARGV[1] = ARGV[18] .. nth, tostring(nth)
  local outcome = admit(KEYS, ARGV)[1]
  counts[outcome] = (counts[outcome] or 0) + 1
  redis.call('DEL', KEYS[6])
end
local books = redis.call('HMGET', KEYS[1], 'held', 'admitted')
return { counts.admitted or 0, counts.insufficient or 0, books[1], books[2], redis.call('ZCARD', KEYS[7]) }`;

it('of 200 calls on the last cents of 10, exactly 10 are admitted, in each of 1,000 rounds', async () => {
  const key = aKeyRecord();
  const { workspaceId } = key.workspace;
  const { number, redisId } = opened.epoch.stamp;
  const keys = [
    redisKeys.wallet(workspaceId),
    redisKeys.key(workspaceId, key.keyId),
    redisKeys.months(workspaceId),
    redisKeys.requestsPerMinute(workspaceId, key.keyId),
    redisKeys.tokensPerMinute(workspaceId, key.keyId),
    redisKeys.call(workspaceId, ''),
    redisKeys.calls(workspaceId),
    redisKeys.keys(workspaceId),
    redisKeys.workspaces,
  ];
  const digest = (await opened.redis.script('LOAD', roundScript)) as string;
  for (let seed = 1; seed <= 1_000; seed += 1) {
    const hold = (seed * 7_919) % 1_000_000 || 1;
    const budget = hold * 10 + ((seed * 104_729) % hold);
    const [credit, keyBudget, cap] = [0, 1, 2].map((limit) => (limit === seed % 3 ? budget : 10 ** 12));
    const call = ['', 1, 1_000_000, 1_000_000_000, 1, hold, keyBudget ?? '', cap ?? '', 60_000, '{}'];
    const place = [number, redisId, key.keyId, 'router-1', '', workspaceId];
    const round = await opened.redis.evalsha(
      digest,
      keys.length,
      ...keys,
      ...call,
      ...place,
      credit ?? '',
      redisKeys.call(workspaceId, ''),
    );
    expect(round).toEqual([10, 190, String(hold * 10), '10', 10]);
  }
}, 300_000);

it('settling and sweeping at the same instant charges each of 10,000 calls once', async () => {
  const key = await aFundedKey(AMPLE * 100n, { rpm: 100_000_000, tpm: 2 ** 40 });
  const { workspaceId } = key.workspace;
  let charged = 0n;
  for (let round = 0; round < 50; round += 1) {
    const calls = await Promise.all(
      Array.from({ length: 200 }, (_, nth) => aHeldCall(key, { chargeNanoUsd: BigInt(nth), leaseMs: -1 })),
    );
    await Promise.all(
      calls.flatMap(({ event, json }, nth) => {
        charged += event.chargeNanoUsd;
        const settle = () => endings.settle(event, json, kept);
        const sweep = () => endings.sweep(event, 60_000);
        return (nth + round) % 2 === 0 ? [settle(), sweep()] : [sweep(), settle()];
      }),
    );
    expect(await opened.walletOf(workspaceId)).toMatchObject({ spent: charged, held: 0n });
  }
  expect(await opened.keyOf(workspaceId, key.keyId)).toEqual({ spent: charged, held: 0n });
}, 300_000);

it('two routers that settle one call at once charge it once, 1,000 times', async () => {
  const key = await aFundedKey(AMPLE, { rpm: 100_000_000, tpm: 2 ** 40 });
  const other = opened.redis.duplicate();
  const twin = createCallEndings(other, opened);
  const calls = await Promise.all(Array.from({ length: 1_000 }, () => aHeldCall(key, { chargeNanoUsd: 7n })));
  await Promise.all(
    calls.flatMap(({ event, json }, nth) => [
      endings.settle(event, json, nth % 2 === 0 ? kept : safe),
      twin.settle(event, json, nth % 3 === 0 ? kept : safe),
    ]),
  );
  other.disconnect();
  expect(await opened.walletOf(key.workspace.workspaceId)).toMatchObject({ spent: 7_000n, held: 0n });
});

describe('a limit that changes while calls run', () => {
  it('raised, lets the next call in; lowered, stops new calls and no running one', async () => {
    const key = await aFundedKey(AMPLE, { maxBudgetNanoUsd: 1_000n });
    const running = await aHeldCall(key, { chargeNanoUsd: 900n });
    expect(await ask(key, 1_000n)).toMatchObject({ outcome: 'insufficient', limiter: 'key_budget' });
    expect(await ask({ ...key, maxBudgetNanoUsd: 2_000n }, 1_000n)).toMatchObject({ outcome: 'admitted' });
    const lowered = { ...key, maxBudgetNanoUsd: 10n };
    expect(await ask(lowered, 1n)).toMatchObject({ outcome: 'insufficient', availableNanoUsd: -1_990n });
    expect(await endings.settle(running.event, running.json, kept)).toBe('held');
    expect(await opened.keyOf(key.workspace.workspaceId, key.keyId)).toEqual({ spent: 900n, held: 1_000n });
  });

  it('topped up, lets the next call in', async () => {
    const key = await aFundedKey(1_000n);
    await aHeldCall(key);
    expect(await ask(key, 1_000n)).toMatchObject({ outcome: 'insufficient', limiter: 'credit' });
    await opened.redis.hset(redisKeys.wallet(key.workspace.workspaceId), 'credited', 2_000);
    expect(await ask(key, 1_000n)).toMatchObject({ outcome: 'admitted' });
  });
});
