import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { aPartition, openTestLedger, silentLog, type TestLedger } from '../../test/openTestLedger.ts';
import { absorb } from '../balances/absorb.ts';
import { followTimeline } from './followTimeline.ts';

const { topic } = usageRecorded;

let postgres: TestPostgres;
let ledger: TestLedger;
beforeAll(async () => {
  postgres = await startPostgres();
  ledger = await openTestLedger(postgres);
});
afterAll(() => ledger.close());

let recorded = aUsageRecorded();
beforeEach(() => {
  recorded = aUsageRecorded();
});
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

it.each([
  ['a standby took over that lacks commits', 'failOver'],
  ['its disk was set back', 'setBack'],
] as const)(
  'gives no balances once %s, until what it lacks is read again, and then newer ones',
  async (_what, breakIt) => {
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
      const before = await balances();
      expect(before.workspaces).toMatchObject([{ leftNanoUsd: -125_000n, finalCallIds: [recorded.callId] }]);

      ends.set(partition.partition, 2n);
      const wentBackBefore = wentBack;
      // Runs are numbered by seconds.
      await delay(1_000);
      await postgres[breakIt]();
      await until('the server to answer', isSilent);
      await until('it to be noticed', () => wentBack > wentBackBefore);
      // Records that come meanwhile need not be waited for.
      ends.set(partition.partition, 9n);
      await delay(500);
      expect(await isSilent()).toBe(true);

      await partition.deliver([recorded], { fromOffset: 1n });
      await until('balances to be given again', isAnswered);
      const after = await balances();
      expect(after.workspaces).toEqual(before.workspaces);
      expect(after.timeline).toBeGreaterThan(before.timeline);
      expect(wentBack).toBe(wentBackBefore + 1);
    } finally {
      await timeline.close();
    }
  },
);
