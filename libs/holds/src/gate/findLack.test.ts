import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { aFundedKey } from '../../test/aFundedKey.ts';
import { aTestLedger, type TestLedger } from '../../test/aTestLedger.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { ShardAbsorber } from '../balances/absorb.ts';
import { monthOf } from '../call/pendingCalls.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { findLack } from './admit.ts';
import { createFindShortage } from './findShortage.ts';

let opened: OpenedRedis;
let ledger: TestLedger;
beforeAll(async () => {
  [opened, ledger] = await Promise.all([openTestRedis(), aTestLedger()]);
});
afterAll(() => Promise.all([opened.close(), ledger.close()]));

const lackOf = (key: KeyRecord, leastNanoUsd = 10n) => {
  const { redis, sessionState } = opened;
  const absorber = new ShardAbsorber({
    redis,
    ledgerUrl: ledger.url,
    internalHeaders: () => ({}),
    sessionState,
    timeoutMs: 20_000,
  });
  const findShortage = createFindShortage(redis, { sessionState });
  return findLack({ absorber, findShortage, log: aSilentLogger() }, key, leastNanoUsd).then((lack) => lack?.shortfall);
};
/** The ledger says the same as Redis has. */
async function aKey(leftNanoUsd: bigint, fields: Parameters<typeof aFundedKey>[2] = {}): Promise<KeyRecord> {
  const key = await aFundedKey(opened, leftNanoUsd, fields);
  Object.assign(ledger.booksOf(key.workspace.workspaceId), { seq: 1, leftNanoUsd });
  return key;
}
const fault = (kind: string) => expect.objectContaining({ fault: { kind } });

it('lets go on whoever could spend so much, and takes nothing', async () => {
  const key = await aKey(10n, { maxBudgetNanoUsd: 10n, rpm: 1, workspace: { monthlyCapNanoUsd: 10n } });
  for (let nth = 0; nth < 3; nth += 1) expect(await lackOf(key)).toBeUndefined();
  expect(await opened.walletOf(key.workspace.workspaceId)).toEqual({ left: 10n, held: 0n, ended: 0n });
});

it.each([
  ['credit', 9n, {}],
  ['key_budget', 100n, { maxBudgetNanoUsd: 9n }],
  ['monthly_cap', 100n, { workspace: { monthlyCapNanoUsd: 9n } }],
] as const)('names the limit that would not carry it: %s', async (limitedBy, left, fields) => {
  const key = await aKey(left, fields);
  expect(await lackOf(key)).toEqual({
    maxUsageCostNanoUsd: 10n,
    keyRemainingNanoUsd: key.maxBudgetNanoUsd,
    remainingNanoUsd: 9n,
    heldNanoUsd: 0n,
    limitedBy,
  });
});

it('refuses whoever may not spend at all', async () => {
  const refused = async (fields: Parameters<typeof aFundedKey>[2]) => lackOf(await aKey(100n, fields));
  await expect(refused({ workspace: { billingStatus: 'on_hold' } })).rejects.toEqual(fault('account_on_hold'));
  await expect(refused({ workspace: { billingStatus: 'not_provisioned' } })).rejects.toEqual(
    fault('billing_not_provisioned'),
  );
  const spent = await aKey(100n, { workspace: { monthlyCapNanoUsd: 9n } });
  await opened.redis.hset(redisKeys.months(spent.workspace.workspaceId), `${monthOf(Date.now())}:spent`, 9);
  await expect(lackOf(spent)).rejects.toEqual(fault('spend_cap_reached'));
});

it('asks for newer credits before it says that there are too few', async () => {
  const key = await aKey(9n);
  Object.assign(ledger.booksOf(key.workspace.workspaceId), { seq: 2, leftNanoUsd: 10n });
  expect(await lackOf(key)).toBeUndefined();
});

it('loads the balances of a workspace that Redis has none of', async () => {
  const [rich, poor] = [await aKey(10n), await aKey(9n)];
  for (const { workspace } of [rich, poor]) await opened.redis.del(redisKeys.wallet(workspace.workspaceId));
  expect([await lackOf(rich), await lackOf(poor)]).toEqual([
    undefined,
    expect.objectContaining({ limitedBy: 'credit' }),
  ]);
});

it('says nothing of what costs nothing, of older records, or without Redis', async () => {
  expect(await lackOf(await aKey(0n), 0n)).toBeUndefined();
  const key = await aKey(0n);
  await opened.redis.hset(redisKeys.key(key.workspace.workspaceId, key.keyId), 'generation', key.generation + 1);
  expect(await lackOf(key)).toBeUndefined();
  const absorber = { load: async () => false, refresh: async () => false };
  const findShortage = async () => Promise.reject(new Error('Command timed out'));
  expect(await findLack({ absorber, findShortage, log: aSilentLogger() }, key, 10n)).toBeUndefined();
});
