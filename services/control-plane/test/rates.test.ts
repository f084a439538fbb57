import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from '@turnpike/postgres/sql';
import { getChargedRate, importRates, listRates } from '../src/rates/rates.ts';
import { startAccount, type TestAccount } from './startAccount.ts';

let account: TestAccount;
beforeAll(async () => {
  account = await startAccount();
});
afterAll(() => account.stop());

const NOW = new Date('2026-11-28T12:00:00Z');
const add = (observations: Record<string, string>, { isConfirmed = false, sha256 = 'a'.repeat(64) } = {}) =>
  importRates(
    account.db,
    {
      ...{ series: 'a test', sha256, isConfirmed, by: 'operator:alice' },
      observations: Object.entries(observations).map(([period, value]) => ({ period, value })),
    },
    NOW,
  );
const readRates = async () =>
  (await listRates(account.db)).map(({ month, usd_per_eur: rate }) => `${month} ${rate}`).toReversed();

it('puts the average of a month in force in the month after, rounded half up to four decimals', async () => {
  expect(await add({ '2026-10': '1.08425', '2025-12': '1.08424999', '2026-01': '1.1' })).toEqual({
    added: 3,
    kept: [],
  });
  expect(await readRates()).toEqual(['2026-01 1.0842', '2026-02 1.1000', '2026-11 1.0843']);
});

it('keeps the rate that a month has, whoever imports another one at once', async () => {
  const [first] = await Promise.all([
    add({ '2026-06': '1.2' }, { sha256: 'b'.repeat(64) }),
    add({ '2026-06': '1.2' }, { sha256: 'c'.repeat(64) }),
    add({ '2026-06': '1.2' }, { sha256: 'd'.repeat(64) }),
  ]);
  const rates = (await listRates(account.db)).filter(({ month }) => month === '2026-07');
  expect(rates).toHaveLength(1);
  expect(first.kept).toEqual([]);
  expect(await add({ '2026-06': '1.21' })).toEqual({
    added: 0,
    kept: [{ month: '2026-07', value: '1.21', known_value: '1.2' }],
  });
  expect(await readRates()).toContain('2026-07 1.2000');
});

it('adds nothing of a file with a change of more than 10 %, until the operator confirms it', async () => {
  const file = { '2026-02': '1.2100', '2026-03': '1.3310' };
  await expect(add({ ...file, '2026-04': '1.4643' })).rejects.toMatchObject({
    fault: { kind: 'rate_out_of_range', month: '2026-05', value: '1.4643' },
  });
  expect(await readRates()).not.toContain('2026-03 1.2100');
  expect(await add({ '2026-02': '1.2100', '2026-03': '1.3310' })).toMatchObject({ added: 2 });
  expect(await add({ '2026-04': '1.4643' }, { isConfirmed: true })).toMatchObject({ added: 1 });
});

it('takes no average of a month that is not over', async () => {
  for (const period of ['2026-11', '2026-12'])
    await expect(add({ [period]: '1.1' })).rejects.toMatchObject({ fault: { kind: 'month_not_over', month: period } });
});

it('has the rate that was in force at a charge, also for one that is seen after a later import', async () => {
  for (const [month, period, importedAt] of [
    ['2031-02', '2031-01', '2031-02-01T09:00:00Z'],
    ['2031-03', '2031-02', '2031-03-02T09:00:00Z'],
  ] as const)
    await account.db.execute(sql`
      INSERT INTO rate_month (month, series, source_period, value_text, rate_e4, sha256, imported_by, imported_at)
      VALUES (${month}, 'a test', ${period}, '1.1', 11000, ${'a'.repeat(64)}, 'a test', ${new Date(importedAt)})`);
  const monthOfRate = async (at: string) => (await getChargedRate(account.db, new Date(at))).month;
  expect(await monthOfRate('2031-03-01T10:00:00Z')).toBe('2031-02');
  expect(await monthOfRate('2031-03-02T10:00:00Z')).toBe('2031-03');
  // Nothing was known then.
  expect(await monthOfRate('2031-02-01T08:00:00Z')).toBe('2031-02');
});
