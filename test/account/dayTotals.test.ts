import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { type Client, createClient } from '@turnpike/internal-api/transport/createClient';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import fc from 'fast-check';
import { startAccount, type TestAccount } from '../../services/control-plane/test/startAccount.ts';
import {
  type OperatorListener,
  startOperatorListener,
} from '../../services/control-plane/test/startOperatorListener.ts';
import { reportSome } from '../../services/usage-ledger/src/day-totals/reportDays.ts';
import { aPartition, openTestLedger, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';

// The ledger of `us` and the control plane, over the wire.

fc.configureGlobal({ seed: 20_261_127 });

let account: TestAccount;
let listener: OperatorListener;
let ledger: TestLedger;
let region: Client<typeof controlPlaneApi>;
let operator: Client<typeof controlPlaneApi>;
const workspaces: Record<'us' | 'eu', string> = { us: '', eu: '' };
beforeAll(async () => {
  account = await startAccount();
  listener = await startOperatorListener(account);
  ledger = await openTestLedger();
  region = toClient('usage-ledger');
  operator = toClient('operator', 'alice');
});
afterAll(async () => {
  await ledger.close();
  await listener.stop();
  await account.stop();
});
beforeEach(async () => {
  const owner = await account.signIn(`${randomUUID()}@example.com`);
  const { body } = await owner.post('/account/organizations', { name: 'Acme' });
  for (const name of ['us', 'eu'] as const) {
    const path = `/account/organizations/${body.organization_id}/workspaces`;
    workspaces[name] = (await owner.post(path, { region: name, name })).body.workspace_id;
  }
});

function toClient(service: string, user?: string): Client<typeof controlPlaneApi> {
  const key = listener.region.keyOf(service);
  const internalHeaders = createTokenIssuer({ key, ...(user !== undefined && { user }) });
  return createClient(controlPlaneApi, { url: listener.url, internalHeaders, timeoutMs: 30_000 });
}

const DAY_MS = 86_400_000;
const FIRST_DAY_MS = Date.UTC(2026, 9, 5);
const aCall = (day: number, chargeNanoUsd: bigint): UsageRecorded =>
  aUsageRecorded({
    workspaceId: workspaces.us,
    keyId: `key_of_${workspaces.us}`,
    startedAtMs: FIRST_DAY_MS + day * DAY_MS,
    chargeNanoUsd,
    formulaNanoUsd: chargeNanoUsd,
    holdNanoUsd: chargeNanoUsd,
  });

/** Reports until every changed day is told. */
async function report(from = ledger, account: Parameters<typeof reportSome>[1] = region): Promise<string[]> {
  const outcomes = [];
  for (;;) {
    const outcome = await reportSome(from.db, account);
    outcomes.push(outcome);
    if (outcome === 'counted' || outcome === 'aside') return outcomes;
  }
}

async function readDays(): Promise<string[]> {
  const { days } = await operator.listDayTotals({ params: { workspace_id: workspaces.us, after: '' } });
  return days.map(({ day, spend_nano_usd: spend, requests }) => `${day} ${spend} ${requests}`);
}

const aTotal = (fields: { workspace_id?: string; day?: string; spend_nano_usd?: string; seq?: number } = {}) => ({
  workspace_id: workspaces.us,
  day: '2026-10-05',
  spend_nano_usd: '5',
  requests: 1,
  seq: 1,
  ...fields,
});
async function readEpoch(): Promise<string> {
  const [state] = await ledger.db.$queryRaw<{ epoch: string }[]>`SELECT epoch::TEXT AS epoch FROM day_report_state`;
  return state?.epoch ?? '';
}

it('shows the whole sums of each day, also of calls that come late', async () => {
  const { deliver } = aPartition(ledger.db);
  await deliver([aCall(0, 1n), aCall(0, 2n), aCall(1, 4n)]);
  await report();
  expect(await readDays()).toEqual(['2026-10-05 3 2', '2026-10-06 4 1']);
  await deliver([aCall(0, 8n)]);
  expect(await readDays()).toEqual(['2026-10-05 3 2', '2026-10-06 4 1']);
  await report();
  expect(await readDays()).toEqual(['2026-10-05 11 3', '2026-10-06 4 1']);
});

it('refuses a workspace of another region with its whole report, and leaves out one that it does not know', async () => {
  const epoch = await readEpoch();
  const refused = region.putDayTotals({ body: { epoch, totals: [aTotal(), aTotal({ workspace_id: workspaces.eu })] } });
  await expect(refused).rejects.toMatchObject({ failure: { status: 403, fault: 'workspace_of_another_region' } });
  expect(await readDays()).toEqual([]);
  const { standing } = await region.putDayTotals({
    body: { epoch, totals: [aTotal({ workspace_id: 'ws_of_the_operator' }), aTotal()] },
  });
  expect([standing, await readDays()]).toEqual(['counted', ['2026-10-05 5 1']]);
});

it('takes reports of a ledger alone', async () => {
  const body = { epoch: randomUUID(), totals: [] };
  const refused = { failure: { status: 403, fault: 'caller_not_allowed' } };
  for (const other of [toClient('auth'), operator])
    await expect(other.putDayTotals({ body })).rejects.toMatchObject(refused);
  await expect(region.listRegionEpochs({ params: {} })).rejects.toMatchObject(refused);
});

it('changes nothing for a repeated report, and takes none of a lower sequence', async () => {
  const epoch = await readEpoch();
  const put = async (fields: Parameters<typeof aTotal>[0]) =>
    (await region.putDayTotals({ body: { epoch, totals: [aTotal(fields)] } })).standing;
  expect(await put({ seq: 5, spend_nano_usd: '7' })).toBe('counted');
  expect(await put({ seq: 5, spend_nano_usd: '7' })).toBe('counted');
  expect(await put({ seq: 4 })).toBe('outdated');
  expect(await put({ seq: 5, spend_nano_usd: '8' })).toBe('outdated');
  expect(await readDays()).toEqual(['2026-10-05 7 1']);
});

it('keeps no row that the control plane could remove', async () => {
  await expect(account.db.$executeRaw`DELETE FROM day_total`).rejects.toThrow(/permission denied/);
});

it('tells every day again to an account database of another epoch', async () => {
  await aPartition(ledger.db).deliver([aCall(0, 1n), aCall(3, 2n)]);
  await report();
  const told: string[] = [];
  const restored: Parameters<typeof reportSome>[1] = {
    async putDayTotals(call) {
      for (const { workspace_id: id, day } of call.body.totals) if (id === workspaces.us) told.push(day);
      return { ...(await region.putDayTotals(call)), account_epoch: 'restored' };
    },
  };
  await report(ledger, restored);
  expect(told).toEqual(['2026-10-05', '2026-10-08']);
  await report();
});

it('comes to the sums of the ledger, whatever report is lost, repeated or cut', async () => {
  const step = fc.oneof(
    fc.record({ day: fc.nat(3), charge: fc.bigInt({ min: 1n, max: 1_000n }) }),
    fc.constantFrom('report' as const, 'lost before' as const, 'lost after' as const),
  );
  const lose = (isLostBefore: boolean): Parameters<typeof reportSome>[1] => ({
    async putDayTotals(call) {
      if (!isLostBefore) await region.putDayTotals(call);
      throw new Error('the link is cut');
    },
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
      const { deliver } = aPartition(ledger.db);
      const truth = new Map((await readDays()).map((day) => [day.slice(0, 10), day.split(' ').slice(1).map(BigInt)]));
      for (const each of steps) {
        if (each === 'report') await report();
        else if (typeof each === 'string')
          await expect(report(ledger, lose(each === 'lost before'))).rejects.toThrow('the link is cut');
        else {
          const day = new Date(FIRST_DAY_MS + each.day * DAY_MS).toISOString().slice(0, 10);
          const [spend = 0n, requests = 0n] = truth.get(day) ?? [];
          truth.set(day, [spend + each.charge, requests + 1n]);
          await deliver([aCall(each.day, each.charge)]);
        }
      }
      await report();
      expect(await readDays()).toEqual([...truth].map(([day, sums]) => `${day} ${sums.join(' ')}`).sort());
    }),
    { numRuns: 20 },
  );
});

it('keeps the days of a restored ledger aside until an operator confirms its epoch', async () => {
  const events = [aCall(0, 1n), aCall(0, 2n), aCall(1, 4n)];
  const { deliver } = aPartition(ledger.db);
  for (const event of events) await deliver([event]);
  await report();
  const epochBefore = await readEpoch();

  // The backup is older than every call, and the event log is read again in one batch.
  const restored = await openTestLedger();
  await restored.db.$executeRaw`UPDATE day_report_state SET epoch = ${epochBefore}::UUID`;
  await aPartition(restored.db).deliver([...events, aCall(1, 8n)]);
  expect(await report(restored)).toEqual(['restored', 'aside']);
  expect(await readDays()).toEqual(['2026-10-05 3 2', '2026-10-06 4 1']);

  const { epochs } = await operator.listRegionEpochs({ params: {} });
  const [found] = epochs.filter(({ confirmed_at: at }) => at === null);
  const epoch = found?.epoch ?? '';
  await operator.confirmRegionEpoch({ params: { region: 'us' }, body: { epoch } });
  expect(await readDays()).toEqual(['2026-10-05 3 2', '2026-10-06 12 2']);
  expect(await report(restored)).toEqual(['counted']);
  const unknown = operator.confirmRegionEpoch({ params: { region: 'us' }, body: { epoch: randomUUID() } });
  await expect(unknown).rejects.toMatchObject({ failure: { status: 404, fault: 'epoch_not_found' } });
  // The old ledger, were it to come back, does not count.
  expect(await reportSome(ledger.db, region)).toBe('restored');
  await restored.close();
});
