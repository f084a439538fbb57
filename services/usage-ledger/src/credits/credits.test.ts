import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import fc from 'fast-check';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { getBalances } from '../balances/getBalances.ts';
import { addCredit } from './addCredit.ts';
import { noteTakeBack, workOffTakeBacks } from './takeBacks.ts';

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

/** The gate and the account layer around one workspace, and a call that the gate may admit at any question. */
function around(workspaceId: string) {
  const state = { held: 0n, admitted: 0n, booked: undefined as bigint | undefined, reports: 0, failing: '' };
  const readLeft = async () => {
    const { creditedNanoUsd, spentNanoUsd } = await getBalances(ledger.db, { workspaceId, month: '2026-11' });
    return creditedNanoUsd - spentNanoUsd;
  };
  const failAt = (step: string) => {
    if (state.failing !== step) return;
    state.failing = '';
    throw new Error('away');
  };
  const dependencies = {
    db: ledger.db,
    router: {
      async getCredit() {
        failAt('getCredit');
        const answer = { credit_nano_usd: await readLeft(), held_nano_usd: state.held, month_spend_nano_usd: 0n };
        // The gate still counts the old credit, so it admits a call between the answer and the taking.
        state.held += state.admitted;
        state.admitted = 0n;
        return answer;
      },
    },
    async announceCredit() {
      failAt('announceCredit');
    },
    account: {
      async putTakeBack({ body }: { body?: unknown }) {
        failAt('putTakeBack before');
        state.reports += 1;
        state.booked ??= BigInt((body as { taken_nano_usd: string }).taken_nano_usd);
        failAt('putTakeBack after');
        return { taken_nano_usd: state.booked };
      },
    },
  };
  return { state, readLeft, work: () => workOffTakeBacks(dependencies as never) };
}

const aTakeBack = (workspaceId: string, nanoUsd: bigint, unit = 1n) => ({
  ...{ kind: 'take_back' as const, seq: 1, workspace_id: workspaceId, nano_usd: nanoUsd, unit_nano_usd: unit },
  take_back_id: `refund_${randomUUID()}`,
});
const note = (entry: ReturnType<typeof aTakeBack>) => ledger.db.transaction((tx) => noteTakeBack(tx, entry));

it.each([
  ['all of it', 3_000n, 0n, 3_000n],
  ['what no call holds', 5_000n, 1_500n, 3_500n],
  ['a multiple of a cent', 5_000n, 1_501n, 3_000n],
  ['nothing where all is held', 5_000n, 5_000n, 0n],
  ['nothing where more is held than there is', 5_000n, 6_000n, 0n],
])('takes back %s, and reports it once', async (_case, wanted, held, taken) => {
  const workspaceId = `ws_${randomUUID()}`;
  await addCredit(ledger.db, aCredit(workspaceId, 5_000n));
  const { state, readLeft, work } = around(workspaceId);
  state.held = held;
  await note(aTakeBack(workspaceId, wanted, held === 1_501n ? 1_000n : 1n));
  for (let time = 0; time < 3; time += 1) await work();
  expect([state.booked, state.reports, await readLeft()]).toEqual([taken, 1, 5_000n - taken]);
});

it('refuses a known take-back with another amount', async () => {
  const entry = aTakeBack('ws_x', 5n);
  await note(entry);
  await note(entry);
  await expect(note({ ...entry, nano_usd: 6n })).rejects.toThrow('known with other contents');
  await ledger.ownerDb.$executeRaw`UPDATE take_back SET posted_nano_usd = 0, taken_nano_usd = 0, told_at = now()`;
});

it('takes back what the account layer has booked for a ledger that was restored', async () => {
  const workspaceId = `ws_${randomUUID()}`;
  await addCredit(ledger.db, aCredit(workspaceId, 5_000n));
  const { state, readLeft, work } = around(workspaceId);
  await note(aTakeBack(workspaceId, 4_000n));
  Object.assign(state, { held: 2_000n, booked: 4_000n });
  await work();
  expect(await readLeft()).toBe(1_000n);
});

it('takes no credit that a call holds, and reports what it took, wherever it is cut and whenever calls come', async () => {
  const fault = fc.constantFrom('', 'getCredit', 'announceCredit', 'putTakeBack before', 'putTakeBack after');
  const run = fc.record({
    wanted: fc.bigInt(1n, 12n),
    unit: fc.bigInt(1n, 3n),
    held: fc.bigInt(0n, 4n),
    admitted: fc.bigInt(0n, 6n),
    faults: fc.array(fault, { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(run, async ({ wanted, unit, held, admitted, faults }) => {
      const workspaceId = `ws_${randomUUID()}`;
      await addCredit(ledger.db, aCredit(workspaceId, 10n));
      const { state, readLeft, work } = around(workspaceId);
      Object.assign(state, { held, admitted: admitted > 10n - held ? 10n - held : admitted });
      await note(aTakeBack(workspaceId, wanted * unit, unit));
      for (const failing of faults) {
        state.failing = failing;
        await work().catch(() => undefined);
      }
      state.failing = '';
      await Promise.all([work(), work()]);
      const left = await readLeft();
      expect(left).toBeGreaterThanOrEqual(state.held);
      expect(state.booked).toBe(10n - left);
      expect([(state.booked ?? -1n) % unit, (state.booked ?? -1n) <= wanted * unit]).toEqual([0n, true]);
      // All that no call holds is taken, as far as it is wanted.
      const free = ((10n - state.held) / unit) * unit;
      expect(state.booked).toBe(free < wanted * unit ? free : wanted * unit);
    }),
    { numRuns: 40, seed: 20_261_128 },
  );
});
