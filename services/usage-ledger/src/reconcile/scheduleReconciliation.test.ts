import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { openTestLedger, silentLog, type TestLedger } from '../../test/openTestLedger.ts';
import { toCheck, type WorkspaceReport } from './check.ts';
import { scheduleReconciliation } from './scheduleReconciliation.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const report: WorkspaceReport = {
  workspaceId: 'ws_a',
  checks: [toCheck('rowsAndHours', 'nano_usd', 5n, 5n), toCheck('redisLeft', 'nano_usd', 5n, 7n)],
  doubts: [],
};

it('raises an alert and counts every difference, in one replica at a time', async () => {
  let counted = 0;
  let [running, most, runs] = [0, 0, 0];
  const alerts: object[] = [];
  const log = Object.create(silentLog, {
    error: { value: (fields: object, message: string) => alerts.push({ ...fields, message }) },
  });
  const meter = Object.create(noTelemetry.meter, {
    createCounter: { value: () => ({ add: (n: number) => (counted += n) }) },
  });
  const start = () =>
    scheduleReconciliation({
      db: ledger.db,
      log,
      telemetry: { meter },
      intervalMs: 5,
      async run() {
        running += 1;
        most = Math.max(most, running);
        await delay(20);
        running -= 1;
        runs += 1;
        return [report];
      },
    });
  const replicas = [start(), start(), start()];
  while (runs < 5) await delay(5);
  await Promise.all(replicas.map((replica) => replica.close()));
  expect(running).toBe(0);

  expect(most).toBe(1);
  expect(counted).toBe(runs);
  expect(alerts[0]).toEqual({
    message: 'ALERT the books differ',
    workspaceId: 'ws_a',
    check: 'left: Redis = ledger',
    left: '5',
    right: '7',
  });
});
