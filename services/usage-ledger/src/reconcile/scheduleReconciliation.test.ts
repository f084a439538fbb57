import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { until } from '@turnpike/test-support/until';
import { openTestLedger, silentLog, type TestLedger } from '../../test/openTestLedger.ts';
import { toCheck, type WorkspaceReport } from './check.ts';
import { noteReconciled, type ScheduleOptions, scheduleReconciliation } from './scheduleReconciliation.ts';

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

const anInterval = () => ledger.db.$executeRaw`UPDATE reconciliation SET started_at = started_at - INTERVAL '1 hour'`;

/** Logs, counts and gauges of a schedule. */
function aWitness() {
  const seen = { counted: 0, alerts: [] as object[], readGauge: async (): Promise<number> => Number.NaN };
  const log = Object.create(silentLog, {
    error: { value: (fields: object, message: string) => seen.alerts.push({ ...fields, message }) },
  });
  const meter = Object.create(noTelemetry.meter, {
    createCounter: { value: () => ({ add: (n: number) => (seen.counted += n) }) },
    createObservableGauge: {
      value: () => ({
        addCallback(callback: (result: { observe: (value: number) => void }) => Promise<void>) {
          seen.readGauge = async () => {
            let value = Number.NaN;
            await callback({ observe: (observed) => (value = observed) });
            return value;
          };
        },
      }),
    },
  });
  return { seen, log, telemetry: { meter } };
}

it('raises an alert and counts every difference, in one replica at a time', async () => {
  let [running, most, runs] = [0, 0, 0];
  const { seen, log, telemetry } = aWitness();
  const start = () =>
    scheduleReconciliation({
      db: ledger.db,
      log,
      telemetry,
      intervalMs: 5,
      async run() {
        running += 1;
        most = Math.max(most, running);
        await delay(20);
        running -= 1;
        runs += 1;
        return { reports: [report], lastWorkspace: 'ws_a', unasked: 0 };
      },
    });
  const replicas = [start(), start(), start()];
  while (runs < 5) await delay(5);
  await Promise.all(replicas.map((replica) => replica.close()));
  expect(running).toBe(0);

  expect(most).toBe(1);
  expect(seen.counted).toBe(runs);
  expect(seen.alerts[0]).toEqual({
    message: 'ALERT the books differ',
    workspaceId: 'ws_a',
    check: 'left: Redis = ledger',
    left: '5',
    right: '7',
  });
});

it('lets no other replica begin while a run goes on, for longer than other transactions may wait', async () => {
  const { log, telemetry } = aWitness();
  let runs = 0;
  const over = Promise.withResolvers<void>();
  const start = () =>
    scheduleReconciliation({
      db: ledger.db,
      log,
      telemetry,
      intervalMs: 5,
      async run() {
        runs += 1;
        await over.promise;
        return { reports: [], lastWorkspace: 'ws_a', unasked: 0 };
      },
    });
  const replicas = [start(), start()];
  const readWait = async (): Promise<number> => {
    const [row] = await ledger.db.$queryRaw<{ seconds: number }[]>`
      SELECT max(extract(epoch FROM now() - state_change))::FLOAT AS seconds FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'idle in transaction'`;
    return row?.seconds ?? 0;
  };
  while (runs < 2 && (await readWait()) < 6) await delay(50);
  expect(runs).toBe(1);
  over.resolve();
  await Promise.all(replicas.map((replica) => replica.close()));
});

it('runs once an interval however many replicas there are, from where the last run ended, and shows when one succeeded', async () => {
  const began: string[] = [];
  const { seen, log, telemetry } = aWitness();
  const outcomes = [
    () => Promise.resolve({ reports: [], lastWorkspace: 'ws_m', unasked: 3 }),
    () => Promise.reject(new Error('no database')),
    () => Promise.resolve({ reports: [], lastWorkspace: 'ws_z', unasked: 0 }),
  ];
  await ledger.db.$executeRaw`UPDATE reconciliation SET started_at = now(), succeeded_at = NULL, after_workspace = ''`;
  const replicas = [1, 2, 3].map(() =>
    scheduleReconciliation({
      db: ledger.db,
      log,
      telemetry,
      intervalMs: 3_600_000,
      pollMs: 5,
      run({ afterWorkspace }) {
        began.push(afterWorkspace);
        return (outcomes[began.length - 1] ?? outcomes[0])?.() as ReturnType<ScheduleOptions['run']>;
      },
    }),
  );
  const untilRuns = async (count: number) => {
    while (began.length < count) await delay(5);
    await delay(200);
    expect(began).toHaveLength(count);
  };
  /** Waits until a success after this time is written, which a run does at its end. */
  const untilSuccess = (after: number) =>
    until('a later success', async () => {
      const success = await seen.readGauge();
      return success > after && success;
    });
  await untilRuns(0);
  expect(await seen.readGauge()).toBeNaN();
  await anInterval();
  await untilRuns(1);
  const firstSuccess = await untilSuccess(0);
  expect(Math.abs(firstSuccess - Date.now() / 1_000)).toBeLessThan(60);
  await anInterval();
  await untilRuns(2);
  expect(await seen.readGauge()).toBe(firstSuccess);
  await anInterval();
  await untilRuns(3);
  await untilSuccess(firstSuccess);
  await Promise.all(replicas.map((replica) => replica.close()));
  expect(began).toEqual(['', 'ws_m', 'ws_m']);
});

it('counts a run that an operator asked for as a success', async () => {
  const readSuccess = () => ledger.db.$queryRaw<{ isKnown: boolean }[]>`
    SELECT succeeded_at IS NOT NULL AS "isKnown" FROM reconciliation`;
  await ledger.db.$executeRaw`UPDATE reconciliation SET succeeded_at = NULL`;
  await noteReconciled(ledger.db);
  expect(await readSuccess()).toEqual([{ isKnown: true }]);
});
