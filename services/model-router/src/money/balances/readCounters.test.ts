import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { anAdmittedCall } from '../../../test/anAdmittedCall.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { readCounters } from './readCounters.ts';

let opened: OpenedRedis;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());

it('shows what is counted and held, by whom and for how long', async () => {
  const { call, terms } = await anAdmittedCall(opened, { holdNanoUsd: 700n, leaseMs: -5_000 });
  const { callId, keyId, workspaceId } = call;
  const { redis, epoch } = opened;
  const balances = { load: async () => true };
  const { calls, nowMs, ...books } = await readCounters({ redis, balances, epoch }, { workspaceId, after: 0 });
  expect(books).toEqual({
    epoch: 1,
    creditSeq: 1,
    creditedNanoUsd: 10n ** 12n,
    spentNanoUsd: 0n,
    heldNanoUsd: 700n,
    admittedCalls: 1,
    uncertainCalls: 0,
    keys: [{ keyId, spentNanoUsd: 0n, heldNanoUsd: 700n }],
    months: {
      [new Date(terms.admittedAtMs).toISOString().slice(0, 7)]: { spentNanoUsd: 0n, heldNanoUsd: 700n },
    },
    nextAfter: undefined,
  });
  const { admittedAtMs } = terms;
  expect(nowMs).toBeGreaterThanOrEqual(admittedAtMs);
  expect(calls).toMatchObject([
    { callId, keyId, state: 'held', holdNanoUsd: 700n, chargeNanoUsd: 0n, owner: 'router-1', admittedAtMs },
  ]);
  expect(calls[0]?.leaseEndsInMs).toBeLessThan(0);
});

it('brings balances of another epoch up to date before it shows them', async () => {
  const { call } = await anAdmittedCall(opened);
  const asked: string[] = [];
  const balances = { load: async (workspaceId: string) => asked.push(workspaceId) > 0 };
  const epoch = { stamp: { number: 2, redisId: opened.epoch.stamp.redisId } };
  await readCounters({ redis: opened.redis, balances, epoch }, { workspaceId: call.workspaceId, after: 0 });
  expect(asked).toEqual([call.workspaceId]);
});
