import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { aPartition, openTestLedger, silentLog, type TestLedger } from '../../test/openTestLedger.ts';
import { absorb } from '../balances/absorb.ts';
import { followTimeline } from './followTimeline.ts';
import { createReportRouter } from './reportRouter.ts';

const { topic } = usageRecorded;

let postgres: TestPostgres;
let ledger: TestLedger;
beforeAll(async () => {
  postgres = await startPostgres();
  ledger = await openTestLedger(postgres);
});
afterAll(() => ledger.close());

const recorded = aUsageRecorded();
const balances = () =>
  absorb(ledger.db, [{ workspaceId: recorded.workspaceId, month: '2026-11', keyIds: [], callIds: [recorded.callId] }]);
const isSilent = () =>
  balances().then(
    () => false,
    (error: { fault?: { kind: string } }) => error.fault?.kind === 'balances_catching_up',
  );
const isAnswered = () =>
  balances().then(
    () => true,
    () => false,
  );

it('gives no balances after a failover until what the standby lacked is read again, and then all of them', async () => {
  const partition = aPartition(ledger.db);
  const ends = new Map<number, bigint>();
  let wentBack = 0;
  const consumer = {
    endOffsets: async () => ends,
    async goBack() {
      wentBack += 1;
    },
  };
  const timeline = followTimeline({ db: ledger.db, consumer, topic, log: silentLog });
  try {
    await until('balances to be given at first', isAnswered);
    await partition.deliver([aUsageRecorded()]);
    await postgres.keepStandby();
    await until('the database to be back', isAnswered);
    await partition.deliver([recorded]);
    expect((await balances()).workspaces).toMatchObject([{ leftNanoUsd: -125_000n, finalCallIds: [recorded.callId] }]);

    ends.set(partition.partition, 2n);
    await postgres.failOver();
    await until('the standby to answer', isSilent);
    await until('it to be noticed', () => wentBack > 1);
    // Records that come meanwhile need not be waited for.
    ends.set(partition.partition, 9n);
    await delay(500);
    expect(await isSilent()).toBe(true);

    await partition.deliver([recorded], { fromOffset: 1n });
    await until('balances to be given again', isAnswered);
    expect(await balances()).toMatchObject({
      timeline: 2,
      workspaces: [{ leftNanoUsd: -125_000n, finalCallIds: [recorded.callId] }],
    });
    expect(wentBack).toBe(2);
  } finally {
    await timeline.close();
  }
});

it('gives every Redis another mark where the timeline is an older one, as in a database that was restored', async () => {
  const reportRouter = createReportRouter({ db: ledger.db, log: silentLog });
  await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
  const report = { routerId: 'r1', shard: '0-16383', redisId: 'a'.repeat(40), putBackMark: null, missingMark: null };
  const { mark } = await reportRouter(report);
  expect(await reportRouter({ ...report, putBackMark: mark })).toMatchObject({ mark, isOpen: true });
  await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline() + 7`;
  const consumer = { endOffsets: async () => new Map<number, bigint>(), goBack: async () => {} };
  const timeline = followTimeline({ db: ledger.db, consumer, topic, log: silentLog });
  await until('balances to be given again', isAnswered);
  await timeline.close();
  const after = await reportRouter({ ...report, putBackMark: mark });
  expect(after).toMatchObject({ isOpen: false, waitsFor: ['r1'] });
  expect(after.mark).not.toBe(mark);
});
