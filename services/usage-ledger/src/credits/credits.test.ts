import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { getBalances } from '../balances/getBalances.ts';
import { addCredit } from './addCredit.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const aCredit = (workspaceId: string, amountNanoUsd = 5_000_000_000n) => ({
  creditId: `credit_${randomUUID()}`,
  workspaceId,
  amountNanoUsd,
  note: 'top-up',
});

it('applies a credit once, however often and however concurrently it is sent', async () => {
  const workspaceId = `ws_${randomUUID()}`;
  const credit = aCredit(workspaceId);
  const applied = await Promise.all(Array.from({ length: 6 }, () => addCredit(ledger.db, credit)));

  expect(applied.filter(Boolean)).toHaveLength(1);
  expect(await getBalances(ledger.db, { workspaceId, month: '2026-11' })).toMatchObject({
    creditedNanoUsd: 5_000_000_000n,
  });
});

it.each([
  ['another amount', { amountNanoUsd: 1n }],
  ['another workspace', { workspaceId: 'ws_other' }],
])('refuses a known credit id with %s', async (_what, change) => {
  const credit = aCredit(`ws_${randomUUID()}`);
  await addCredit(ledger.db, credit);

  await expect(addCredit(ledger.db, { ...credit, ...change })).rejects.toMatchObject({
    fault: { kind: 'credit_conflict' },
  });
  expect(await ledger.db.credit.findMany({ where: { creditId: credit.creditId } })).toMatchObject([
    { amountNanoUsd: 5_000_000_000n },
  ]);
});

it('keeps credits as they were written', async () => {
  const credit = aCredit(`ws_${randomUUID()}`);
  await addCredit(ledger.db, credit);

  await expect(ledger.ownerDb.credit.deleteMany({ where: { creditId: credit.creditId } })).rejects.toThrow(
    /append-only/,
  );
  await expect(ledger.ownerDb.credit.updateMany({ data: { amountNanoUsd: 1n } })).rejects.toThrow(/append-only/);
});

it('posts a credit once, with legs that sum to zero, and a correction as another posting', async () => {
  const workspaceId = `ws_${randomUUID()}`;
  const credit = aCredit(workspaceId);
  const correction = aCredit(workspaceId, -2_000_000_000n);
  for (const sent of [credit, correction, credit]) await addCredit(ledger.db, sent);

  const postings = await ledger.db.posting.findMany({ where: { workspaceId }, orderBy: { postingId: 'asc' } });
  expect(
    postings.map(({ source, walletNanoUsd, counterNanoUsd }) => [
      source,
      Number(walletNanoUsd),
      Number(counterNanoUsd),
    ]),
  ).toEqual([
    [credit.creditId, 5_000_000_000, -5_000_000_000],
    [correction.creditId, -2_000_000_000, 2_000_000_000],
  ]);
});

it('tells what a workspace was given and has spent: in all, in the month asked for, and by key', async () => {
  const workspaceId = `ws_${randomUUID()}`;
  const [keyA, keyB] = [`key_${randomUUID()}`, `key_${randomUUID()}`];
  await addCredit(ledger.db, aCredit(workspaceId));
  await addCredit(ledger.db, aCredit(workspaceId, -1_000_000_000n));
  const [october, november] = [Date.UTC(2026, 9, 31, 23, 59), Date.UTC(2026, 10, 1)];
  await aPartition(ledger.db).deliver([
    aUsageRecorded({ workspaceId, keyId: keyA, startedAtMs: october, chargeNanoUsd: 1n }),
    aUsageRecorded({ workspaceId, keyId: keyA, startedAtMs: november, chargeNanoUsd: 20n }),
    aUsageRecorded({ workspaceId, keyId: keyB, startedAtMs: november, chargeNanoUsd: 300n }),
    aUsageRecorded({ keyId: `key_${randomUUID()}`, startedAtMs: november, chargeNanoUsd: 4_000n }),
  ]);

  const balances = await getBalances(ledger.db, { workspaceId, month: '2026-11' });

  expect(balances).toMatchObject({
    creditedNanoUsd: 4_000_000_000n,
    spentNanoUsd: 321n,
    requests: 3n,
  });
  expect(balances.monthSpentNanoUsd).toBe(320n);
  expect(balances.spentNanoUsdByKey).toEqual(
    new Map([
      [keyA, 21n],
      [keyB, 300n],
    ]),
  );
});

it('answers zeros for a workspace nobody has heard of', async () => {
  expect(await getBalances(ledger.db, { workspaceId: 'ws_none', month: '2026-11' })).toEqual({
    creditedNanoUsd: 0n,
    spentNanoUsd: 0n,
    monthSpentNanoUsd: 0n,
    spentNanoUsdByKey: new Map(),
    requests: 0n,
  });
});
