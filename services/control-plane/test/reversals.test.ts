import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { sql } from '@turnpike/postgres/sql';
import { until } from '@turnpike/test-support/until';
import { continueRefund, failRefund, getRefund, recordTaken, startRefund } from '../src/billing/refunds.ts';
import { settleTopUp } from '../src/billing/settleTopUp.ts';
import { startTopUp } from '../src/billing/topUps.ts';
import { monthOf } from '../src/rates/months.ts';
import { importRates } from '../src/rates/rates.ts';
import { startAccount, type TestAccount } from './startAccount.ts';
import { startOperatorListener } from './startOperatorListener.ts';
import { startPayments, type TestPayments } from './startPayments.ts';
import { TestRegion } from './TestRegion.ts';

const BY = { address: '', browser: '', requestId: '' };
const CENT_NANO_USD = 10_842_000n;

let account: TestAccount;
let payments: TestPayments;
let region: TestRegion;
beforeAll(async () => {
  payments = await startPayments();
  await payments.order('POST', 'config', { invoiceDelayMs: 0 });
  account = await startAccount({ paymentProcessor: payments.settings });
  await payments.sendTo(account.url);
  const observations = [{ period: monthOf(new Date(new Date().setUTCDate(0))), value: '1.0842' }];
  await importRates(account.db, { series: 'a test', sha256: 'a'.repeat(64), observations, isConfirmed: true, by: '' });
  region = new TestRegion(account, 'eu');
});
afterAll(async () => {
  await account.stop();
  await payments.close();
});
beforeEach(async () => {
  await payments.order('DELETE', 'faults');
});

const toProcessor = () => ({ db: account.db, payments: account.payments as never });

interface Payer {
  organizationId: string;
  workspaceId: string;
  userId: string;
}

/** An owner of a workspace that has no credit. */
async function aPayer(inRegion: 'us' | 'eu' = 'eu'): Promise<Payer> {
  const [userId, organizationId, workspaceId] = ['user', 'org', 'ws'].map((kind) => `${kind}_${randomUUID()}`) as [
    string,
    string,
    string,
  ];
  const { db } = account;
  await db.user.create({ data: { userId, name: 'Ann' } });
  await db.organization.create({ data: { organizationId, name: 'Acme' } });
  await db.workspace.create({
    data: { workspaceId, organizationId, region: inRegion, name: 'Acme', status: 'not_provisioned' },
  });
  return { organizationId, workspaceId, userId };
}

/** Starts a top-up and pays it. Returns its id once it has its invoice. */
async function pay(payer: Payer, netCents = 2_500, country = 'IE'): Promise<string> {
  const { db, settleQueue } = account;
  const accountOrigin = 'https://account.example';
  const started = await startTopUp({ ...toProcessor(), settleQueue, accountOrigin }, { ...payer, netCents }, BY);
  const { top_up_id: id } = started.top_up;
  await payments.pay(started.checkout_url, { country });
  await until('the invoice', async () => (await settleTopUp({ ...toProcessor(), db }, id)) === 'invoiced');
  await region.work();
  return id;
}

const start = async (topUpId: string, netCents?: number): Promise<string> =>
  (await startRefund(account.db, { topUpId, netCents, note: 'a test', by: 'operator:alice' }, BY)).refund_id;
const untilState = (refundId: string, state: string) =>
  until(`a refund that is ${state}`, async () => {
    await region.work();
    return (await getRefund(account.db, refundId)).state === state;
  });
const readTransfers = async (source: string) =>
  (
    await account.db.query(sql<{ transfer: string }>`
      SELECT unit || ' ' || debit || ' ' || credit || ' ' || amount AS transfer FROM transfer WHERE source = ${source} ORDER BY 1`)
  ).map(({ transfer }) => transfer);
const readCredited = async (workspaceId: string): Promise<bigint> => {
  const [wallet] = await account.db.query(sql<{ credited: string }>`
    SELECT credited_nano_usd::TEXT AS credited FROM wallet WHERE workspace_id = ${workspaceId}`);
  return BigInt(wallet?.credited ?? -1);
};
/** What the processor has of a top-up's money that went back. */
async function readReversals(topUpId: string) {
  const [row] = await account.db.query(sql<{ charge: string; invoice: string }>`
    SELECT charge_id AS charge, invoice_id AS invoice FROM top_up WHERE top_up_id = ${topUpId}`);
  const stripe = account.payments?.stripe;
  const notes = await stripe?.creditNotes.list({ invoice: row?.invoice ?? '' });
  const refunds = await stripe?.refunds.list({ charge: row?.charge ?? '' });
  return { charge: row?.charge ?? '', notes: notes?.data ?? [], refunds: refunds?.data ?? [] };
}

it('takes the credit back first, and refunds it with its share of the tax by a credit note, once', async () => {
  const payer = await aPayer();
  const topUpId = await pay(payer);
  const refundId = await start(topUpId, 1_000);
  expect(await getRefund(account.db, refundId)).toMatchObject({ state: 'taking', wanted_cents: 1_000 });
  expect((await readReversals(topUpId)).notes).toEqual([]);
  await untilState(refundId, 'refunded');
  for (let time = 0; time < 3; time += 1) await continueRefund(toProcessor(), refundId);
  expect(await getRefund(account.db, refundId)).toMatchObject({
    ...{ state: 'refunded', taken_cents: 1_000, tax_cents: 230, taken_nano_usd: '10842000000' },
    credit_note_number: expect.stringContaining('-CN-01'),
  });
  const { notes, refunds } = await readReversals(topUpId);
  expect(notes.map(({ subtotal, total }) => [subtotal, total])).toEqual([[1_000, 1_230]]);
  expect(refunds.map(({ amount }) => amount)).toEqual([1_230]);
  expect(await readTransfers(refundId)).toEqual([
    'eur_cent fx_bridge psp_clearing 1000',
    'eur_cent vat_payable:IE psp_clearing 230',
    `nano_usd wallet:${payer.workspaceId} fx_bridge 10842000000`,
  ]);
  expect(await readCredited(payer.workspaceId)).toBe(1_500n * CENT_NANO_USD);
  expect(region.balanceOf(payer.workspaceId)).toBe(1_500n * CENT_NANO_USD);
});

it('refunds a top-up in parts that have its whole tax, and not a cent more', async () => {
  const payer = await aPayer();
  const topUpId = await pay(payer, 1_001);
  for (const cents of [333, 333]) await untilState(await start(topUpId, cents), 'refunded');
  await expect(start(topUpId, 336)).rejects.toMatchObject({ fault: { kind: 'refund_too_large', left: '335' } });
  await untilState(await start(topUpId), 'refunded');
  await expect(start(topUpId)).rejects.toMatchObject({ fault: { kind: 'refund_too_large', left: '0' } });
  const { notes } = await readReversals(topUpId);
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  expect([notes.length, sum(notes.map(({ total }) => total))]).toEqual([3, 1_001 + 230]);
  expect(await readCredited(payer.workspaceId)).toBe(0n);
});

it('refunds what is unspent, in whole cents', async () => {
  const payer = await aPayer();
  const topUpId = await pay(payer);
  region.spend(payer.workspaceId, 2_000n * CENT_NANO_USD + 1n);
  const refundId = await start(topUpId);
  await untilState(refundId, 'refunded');
  expect(await getRefund(account.db, refundId)).toMatchObject({
    wanted_cents: 2_500,
    taken_cents: 499,
    tax_cents: 115,
  });
  expect(region.balanceOf(payer.workspaceId)).toBe(CENT_NANO_USD - 1n);
  const another = await start(topUpId);
  await untilState(another, 'nothing_taken');
  expect((await readReversals(topUpId)).refunds).toHaveLength(1);
});

it('has one refund of a top-up under way, and none of one without invoice', async () => {
  const payer = await aPayer();
  const topUpId = await pay(payer);
  const starts = await Promise.allSettled(Array.from({ length: 6 }, () => start(topUpId, 100)));
  expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const each of starts)
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ fault: { kind: 'refund_under_way' } });
  await expect(start('topup_none')).rejects.toMatchObject({ fault: { kind: 'top_up_not_found' } });
  const unpaid = await startTopUp(
    { ...toProcessor(), settleQueue: account.settleQueue, accountOrigin: 'https://account.example' },
    { ...payer, netCents: 1_000 },
    BY,
  );
  await expect(start(unpaid.top_up.top_up_id)).rejects.toMatchObject({ fault: { kind: 'top_up_not_invoiced' } });
});

it('books the first report of a region, and refuses one of another region or of more than is wanted', async () => {
  const payer = await aPayer();
  const refundId = await start(await pay(payer), 1_000);
  const report = (takenNanoUsd: bigint, of: 'eu' | 'us' = 'eu') =>
    recordTaken(account, { refundId, region: of, takenNanoUsd });
  await expect(report(0n, 'us')).rejects.toMatchObject({ fault: { kind: 'take_back_not_found' } });
  for (const wrong of [-CENT_NANO_USD, 1n, 1_001n * CENT_NANO_USD])
    await expect(report(wrong)).rejects.toMatchObject({ fault: { kind: 'take_back_differs' } });
  expect(await report(500n * CENT_NANO_USD)).toBe(500n * CENT_NANO_USD);
  expect(await report(1_000n * CENT_NANO_USD)).toBe(500n * CENT_NANO_USD);
  expect(await readTransfers(refundId)).toContain(
    `nano_usd wallet:${payer.workspaceId} fx_bridge ${500n * CENT_NANO_USD}`,
  );
});

it('gives the credit back where the processor refuses, and where the bank does not take the money', async () => {
  const payer = await aPayer();
  const topUpId = await pay(payer);
  const { charge } = await readReversals(topUpId);
  const refused = await start(topUpId, 1_000);
  // Somebody refunds all of it on the pages of the processor.
  const byHand = await account.payments?.stripe.refunds.create({ charge });
  await untilState(refused, 'refused');
  await region.work();
  expect((await getRefund(account.db, refused)).refusal).toBeTruthy();
  expect(region.balanceOf(payer.workspaceId)).toBe(2_500n * CENT_NANO_USD);
  await payments.order('POST', `refunds/${byHand?.id}/fail`);

  const failed = await start(topUpId);
  await untilState(failed, 'refunded');
  for (let time = 0; time < 2; time += 1) expect(await failRefund(account.db, failed)).toBe('failed');
  await region.work();
  expect(region.balanceOf(payer.workspaceId)).toBe(2_500n * CENT_NANO_USD);
  expect(await readCredited(payer.workspaceId)).toBe(2_500n * CENT_NANO_USD);
});

it('starts and shows refunds for the operator', async () => {
  const listener = await startOperatorListener(account);
  const internalHeaders = createTokenIssuer({ key: listener.region.keyOf('operator'), user: 'alice' });
  const operator = createClient(controlPlaneApi, { url: listener.url, internalHeaders, timeoutMs: 30_000 });
  const payer = await aPayer();
  const topUpId = await pay(payer);
  const { refund_id: id } = await operator.startRefund({
    params: { top_up_id: topUpId },
    body: { net_cents: 1_000, note: 'withdrawn within 14 days' },
  });
  expect(await operator.getRefund({ params: { refund_id: id } })).toMatchObject({
    ...{ state: 'taking', started_by: 'operator:alice', note: 'withdrawn within 14 days' },
  });
  const { refunds } = await operator.listRefunds({ params: { after: '', workspace_id: payer.workspaceId } });
  expect(refunds.map(({ refund_id: each }) => each)).toEqual([id]);
  await untilState(id, 'refunded');
  const lines = await account.db.query(sql<{ action: string; actor: string }>`
    SELECT action, actor FROM audit WHERE target = ${id} ORDER BY audit_id`);
  expect(lines.map(({ action, actor }) => [action, actor])).toEqual([
    ['refund.started', 'operator:alice'],
    ['refund.refunded', 'system'],
  ]);
  await listener.stop();
});

// The last test, because the processor's clock goes forward alone.
it('makes one credit note where answers are lost and the processor has forgotten its key', async () => {
  const payer = await aPayer();
  const topUpId = await pay(payer);
  await payments.order('POST', 'faults/api', [
    { fault: 'reset_after', match: { of: 'POST /v1/credit_notes' }, times: 3 },
  ] as never);
  const refundId = await start(topUpId, 1_000);
  await region.work();
  await until('the last attempt of the client', async () => {
    const { api } = await payments.order<{ api: { struck: number }[] }>('GET', 'faults');
    return api[0]?.struck === 3;
  });
  await payments.order('POST', 'advance', { ms: 25 * 3_600_000 });
  await untilState(refundId, 'refunded');
  const { notes, refunds } = await readReversals(topUpId);
  expect([notes.length, refunds.length]).toEqual([1, 1]);
});
