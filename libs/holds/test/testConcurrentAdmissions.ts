import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import type { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { v7 as uuidv7 } from 'uuid';
import type { Admission, AdmitRequest } from '../src/gate/admit.ts';
import { defineScript, readScript } from '../src/redis/askRedis.ts';
import { redisKeys } from '../src/redis/redisKeys.ts';
import type { ShardHolds } from '../src/shardHolds.ts';
import { aFundedKey as fund } from './aFundedKey.ts';
import { aShardHolds } from './aShardHolds.ts';
import { headOf } from './headOf.ts';
import { type OpenedRedis, openTestRedis } from './openTestRedis.ts';
import { type Absorbed, toAbsorb } from './toAbsorb.ts';

const AMPLE = 10n ** 12n;

let opened: OpenedRedis;
let holds: ShardHolds;
const admit = (request: AdmitRequest): Promise<Admission> => holds.admit(request);
let runAbsorb: ReturnType<typeof defineScript>;
beforeAll(async () => {
  opened = await openTestRedis();
  holds = aShardHolds(opened);
  runAbsorb = defineScript(opened.redis, 'absorb');
});
afterAll(() => opened.close());

const aFundedKey = (leftNanoUsd: bigint, fields: Parameters<typeof aKeyRecord>[0] = {}): Promise<KeyRecord> =>
  fund(opened, leftNanoUsd, fields);

const ask = (key: KeyRecord, holdNanoUsd: bigint, callId = uuidv7()): Promise<Admission> =>
  admit({ callId, key, holdNanoUsd, estimatedPromptTokens: 1, unknownEventJson: '{}' });

async function aHeldCall(key: KeyRecord, { chargeNanoUsd = 300n, holdNanoUsd = 1_000n } = {}) {
  const { workspaceId } = key.workspace;
  const event = aUsageRecorded({ keyId: key.keyId, workspaceId, chargeNanoUsd, holdNanoUsd });
  expect(await ask(key, holdNanoUsd, event.callId)).toMatchObject({ outcome: 'admitted' });
  return { event, json: toUsageRecordedJson(event) };
}

/**
 * Runs the admit script 200 times on balances for ten calls, one after the other as Redis always runs scripts. Returns
 * the number of each outcome and the sums. A round is one command, so that a test can have many.
 */
const roundScript = `
local admit = function(KEYS, ARGV)
${readScript('admit')}
end
local credit = table.remove(ARGV)
local counts = {}
redis.call('DEL', KEYS[4], KEYS[6])
redis.call('HSET', KEYS[2], 'left', credit, 'held', '0', 'ended', '0')
redis.call('HSET', KEYS[5], 'held', '0', 'ended', '0')
for _, field in ipairs(redis.call('HKEYS', KEYS[3])) do
  if string.sub(field, -5) == ':held' then redis.call('HSET', KEYS[3], field, '0') end
end
for nth = 1, 200 do
  ARGV[2] = tostring(nth)
  local outcome = admit(KEYS, ARGV)[1]
  counts[outcome] = (counts[outcome] or 0) + 1
  redis.call('DEL', string.sub(KEYS[1], 1, -8) .. 'call:' .. nth)
end
return { counts.admitted or 0, counts.insufficient or 0, redis.call('HGET', KEYS[2], 'held'), redis.call('HLEN', KEYS[4]) }`;

/** Absorbs sums with this owner's lapsed calls that the ledger has as unknown, and those that are final. */
const absorb = ({ workspaceId }: KeyRecord['workspace'], sums: Partial<Absorbed>) =>
  runAbsorb(...toAbsorb(workspaceId, opened.mark, sums));

/** Registers the tests: so many rounds of 200 admissions, and so many races of 200 calls. */
export function testConcurrentAdmissions({ rounds, races }: { rounds: number; races: number }): void {
  it(`of 200 calls on the last cents of 10, exactly 10 are admitted, in each of ${rounds} rounds`, async () => {
    const key = await aFundedKey(AMPLE);
    const { keyId } = key;
    const { workspaceId } = key.workspace;
    const head = headOf(workspaceId, opened.mark);
    const keys = [
      ...head.keys,
      redisKeys.wallet(workspaceId),
      redisKeys.months(workspaceId),
      redisKeys.calls(workspaceId),
      redisKeys.key(workspaceId, keyId),
      redisKeys.rates(workspaceId, keyId),
    ];
    const digest = (await opened.redis.script('LOAD', roundScript)) as string;
    for (let seed = 1; seed <= rounds; seed += 1) {
      const hold = (seed * 7_919) % 1_000_000 || 1;
      const budget = hold * 10 + ((seed * 104_729) % hold);
      const [credit, keyBudget, cap] = [0, 1, 2].map((limit) => (limit === seed % 3 ? budget : 10 ** 12));
      const call = ['', 1, 1_000_000, 1_000_000_000, 1, hold, keyBudget ?? '', cap ?? '', opened.session.token, '{}'];
      const place = [keyId, 'router-1', '', credit ?? ''];
      const round = await opened.redis.evalsha(digest, keys.length, ...keys, ...head.args, ...call, ...place);
      expect(round).toEqual([10, 190, String(hold * 10), 10]);
    }
  });

  it(`settling, and dropping as unknown, at the same instant charges each of ${200 * races} calls at most once`, async () => {
    const key = await aFundedKey(AMPLE * 100n, { rpm: 100_000_000, tpm: 2 ** 40 });
    const { workspaceId } = key.workspace;
    let charged = 0n;
    for (let round = 0; round < races; round += 1) {
      const calls = await Promise.all(
        Array.from({ length: 200 }, (_, nth) => aHeldCall(key, { chargeNanoUsd: BigInt(nth) })),
      );
      await Promise.all(
        calls.flatMap(({ event, json }, nth) => {
          const settle = async () => {
            if ((await holds.settle(event, json)) === 'held') charged += event.chargeNanoUsd;
          };
          const drop = () => absorb(key.workspace, { unknown: [[event.callId, opened.session.token]] });
          return (nth + round) % 2 === 0 ? [settle(), drop()] : [drop(), settle()];
        }),
      );
      expect(await opened.walletOf(workspaceId)).toMatchObject({ ended: charged, held: 0n });
    }
    expect(await opened.keyOf(workspaceId, key.keyId)).toEqual({ spent: 0n, ended: charged, held: 0n });
  });

  it('two owners that settle one call at once charge it once, 1,000 times', async () => {
    const key = await aFundedKey(AMPLE, { rpm: 100_000_000, tpm: 2 ** 40 });
    const other = opened.redis.duplicate();
    const twin = aShardHolds({ redis: other, sessionState: opened.sessionState });
    const calls = await Promise.all(Array.from({ length: 1_000 }, () => aHeldCall(key, { chargeNanoUsd: 7n })));
    await Promise.all(calls.flatMap(({ event, json }) => [holds.settle(event, json), twin.settle(event, json)]));
    other.disconnect();
    expect(await opened.walletOf(key.workspace.workspaceId)).toMatchObject({ ended: 7_000n, held: 0n });
  });

  it('two owners that settle one call while its final row is absorbed count it once in all, 1,000 times', async () => {
    const key = await aFundedKey(AMPLE, { rpm: 100_000_000, tpm: 2 ** 40 });
    const other = opened.redis.duplicate();
    const twin = aShardHolds({ redis: other, sessionState: opened.sessionState });
    const calls = await Promise.all(Array.from({ length: 1_000 }, () => aHeldCall(key, { chargeNanoUsd: 7n })));
    const sequence = 2;
    await Promise.all(
      calls.flatMap(({ event, json }) => [
        holds.settle(event, json),
        absorb(key.workspace, { sequence, left: AMPLE - 7_000n, final: [event.callId] }),
        twin.settle(event, json),
      ]),
    );
    other.disconnect();
    expect(await opened.walletOf(key.workspace.workspaceId)).toEqual({ left: AMPLE - 7_000n, ended: 0n, held: 0n });
    expect(await opened.pendingOf(key.workspace.workspaceId)).toEqual([]);
  });

  describe('a limit that changes while calls run', () => {
    it('raised, lets the next call in; lowered, stops new calls and no running one', async () => {
      const key = await aFundedKey(AMPLE, { maxBudgetNanoUsd: 1_000n });
      const running = await aHeldCall(key, { chargeNanoUsd: 900n });
      expect(await ask(key, 1_000n)).toMatchObject({ outcome: 'insufficient', limiter: 'key_budget' });
      expect(await ask({ ...key, maxBudgetNanoUsd: 2_000n }, 1_000n)).toMatchObject({ outcome: 'admitted' });
      const lowered = { ...key, maxBudgetNanoUsd: 10n };
      expect(await ask(lowered, 1n)).toMatchObject({ outcome: 'insufficient', availableNanoUsd: -1_990n });
      expect(await holds.settle(running.event, running.json)).toBe('held');
      expect(await opened.keyOf(key.workspace.workspaceId, key.keyId)).toEqual({
        spent: 0n,
        ended: 900n,
        held: 1_000n,
      });
    });

    it('topped up, lets the next call in', async () => {
      const key = await aFundedKey(1_000n);
      await aHeldCall(key);
      expect(await ask(key, 1_000n)).toMatchObject({ outcome: 'insufficient', limiter: 'credit' });
      await opened.redis.hset(redisKeys.wallet(key.workspace.workspaceId), 'left', 2_000);
      expect(await ask(key, 1_000n)).toMatchObject({ outcome: 'admitted' });
    });
  });
}
