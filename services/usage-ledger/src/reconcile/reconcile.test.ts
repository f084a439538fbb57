import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { reconcile } from './reconcile.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

it('checks the rows, and says of what it had no time to hold against Redis that it is not decided', async () => {
  const event = aUsageRecorded();
  await aPartition(ledger.db).deliver([event]);
  const { reports, unasked } = await reconcile(
    {
      auditDb: ledger.db,
      router: {
        getCounters: () => Promise.reject(new Error('nobody is there')),
        reloadBalances: () => Promise.reject(new Error('nobody is there')),
      },
      listPrices: async () => [],
      redisTimeMs: 0,
    },
    { workspaceId: event.workspaceId },
  );
  const [report] = reports;
  expect(unasked).toBe(1);
  expect(report?.checks.length).toBeGreaterThan(0);
  expect(report?.checks.every(({ verdict }) => verdict === 'equal')).toBe(true);
  expect(report?.doubts).toContain('there was no time left to ask what Redis counts');
});
