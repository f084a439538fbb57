import { createHash, createHmac, randomUUID } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { sql } from '@turnpike/postgres/sql';
import { until } from '@turnpike/test-support/until';
import fc from 'fast-check';
import { checkProcessor } from '../src/billing/checkProcessor.ts';
import { WEBHOOK_PATH } from '../src/billing/paymentEvents.ts';
import { openPayments } from '../src/billing/paymentProcessor.ts';
import { settleTopUp } from '../src/billing/settleTopUp.ts';
import { CHECKOUT_RETURN_PATH, startTopUp } from '../src/billing/topUps.ts';
import { readVerdict } from '../src/billing/vatIdGate.ts';
import { openHold } from '../src/holds/holds.ts';
import { post, walletOf } from '../src/ledger/post.ts';
import { lockOrganization } from '../src/organizations/workspaces.ts';
import { importRates, monthOf } from '../src/rates/rates.ts';
import { crashingDb, NEVER } from './crashAt.ts';
import { type Browser, startAccount, type TestAccount, untilBlocked } from './startAccount.ts';
import { startOperatorListener } from './startOperatorListener.ts';
import { CARDS, startPayments, type TestPayments, WEBHOOK_SECRET } from './startPayments.ts';

fc.configureGlobal({ seed: 20_261_128 });
/** Changed by hand for a longer search. */
const RUNS = 15;
const BY = { address: '', browser: '', requestId: '' };

let account: TestAccount;
let payments: TestPayments;
beforeAll(async () => {
  payments = await startPayments();
  account = await startAccount({ paymentProcessor: payments.settings });
  await payments.sendTo(account.url);
  await addRate(account, '1.0842');
});
afterAll(async () => {
  await account.stop();
  await payments.close();
});
beforeEach(async () => {
  await payments.order('DELETE', 'faults');
});

/** Puts a rate in force for this month. */
async function addRate({ db }: TestAccount, value: string): Promise<void> {
  const lastMonth = monthOf(new Date(new Date().setUTCDate(0)));
  const observations = [{ period: lastMonth, value }];
  await importRates(db, { series: 'a test', sha256: 'a'.repeat(64), observations, isConfirmed: true, by: 'a test' });
}

interface Payer {
  browser: Browser & { userId: string };
  organizationId: string;
  workspaceId: string;
  path: string;
}

/** An owner of a workspace that has no credit. */
async function aPayer(region: 'us' | 'eu', at = account): Promise<Payer> {
  const browser = await at.signIn(`${randomUUID()}@example.com`);
  await at.db.user.updateMany({ where: { userId: browser.userId }, data: { welcomedAt: new Date() } });
  const { body } = await browser.post('/account/organizations', { name: 'Acme' });
  const organizationId = body.organization_id;
  const path = `/account/organizations/${organizationId}/workspaces`;
  const workspaceId = (await browser.post(path, { region, name: 'Acme' })).body.workspace_id;
  return { browser, organizationId, workspaceId, path: `${path}/${workspaceId}` };
}

async function start({ browser, path }: Payer, netCents = 2_500): Promise<{ id: string; url: string }> {
  const { status, body } = await browser.post(`${path}/top-ups`, { net_cents: netCents });
  expect([status, body.error ?? body.top_up.state]).toEqual([201, 'open']);
  return { id: body.top_up.top_up_id, url: body.checkout_url };
}

async function find({ browser, path }: Payer, id: string) {
  const { body } = await browser.get(`${path}/top-ups`);
  return body.top_ups.find((topUp: { top_up_id: string }) => topUp.top_up_id === id);
}
const untilState = (payer: Payer, id: string, state: string) =>
  until(`a top-up that is ${state}`, async () => (await find(payer, id)).state === state);

/** The credits that a region was told, by the top-up. */
const readCredits = (id: string, at = account) =>
  at.db.query(sql<{ nano: string; workspace: string }>`
    SELECT body->>'nano_usd' AS nano, body->>'workspace_id' AS workspace FROM feed WHERE body->>'credit_id' = ${id}`);
const readTransfers = (id: string) =>
  account.db.query(sql<{ transfer: string }>`
    SELECT unit || ' ' || debit || ' ' || credit || ' ' || amount AS transfer FROM transfer WHERE source = ${id} ORDER BY 1`);
const loseWebhooks = () => payments.order('POST', 'faults/webhooks', [{ fault: 'lose' }] as never);

it('credits beside an operator who gives the first credit of the wallet', async () => {
  const payer = await aPayer('us');
  const { organizationId, workspaceId } = payer;
  const { id, url } = await start(payer);
  await loseWebhooks();
  await payments.pay(url, { country: 'US' });
  const settling = await account.db.$transaction(async (tx) => {
    await tx.$queryRaw(sql`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`);
    // The steps of the operator's credit.
    await lockOrganization(tx, organizationId);
    // In a list, so that the transaction does not wait for the credit.
    const settled = [settleTopUp({ ...account, payments: account.payments as never }, id)];
    await untilBlocked(account.db);
    const given = { debit: 'promo_given', credit: walletOf(workspaceId), amount: 1n, code: 'adjusted' } as const;
    await post(tx, 'a credit', [{ id: `a credit:${workspaceId}`, unit: 'nano_usd', ...given }]);
    return settled;
  });
  // Its invoice follows some moments later.
  expect(await Promise.all(settling)).toEqual([expect.stringMatching(/^(paid|invoiced)$/)]);
  expect(await readCredits(id)).toHaveLength(1);
});

it('turns €25 with 23 % VAT into credit by the rate of the month, once, with one invoice', async () => {
  const payer = await aPayer('eu');
  expect((await payer.browser.get(`${payer.path}/billing`)).body).toEqual({
    ...{ currency: 'eur', preset_cents: [1_000, 2_500, 5_000, 10_000], minimum_cents: 500, maximum_cents: 500_000 },
    ...{ is_open: true, usd_per_eur: '1.0842', rate_month: monthOf(new Date()) },
  });
  const { id, url } = await start(payer);
  expect(await find(payer, id)).toMatchObject({ state: 'open', net_cents: 2_500, nano_usd: null, tax_cents: null });
  const { next } = await payments.pay(url, { country: 'IE' });
  await untilState(payer, id, 'invoiced');
  expect(await find(payer, id)).toMatchObject({
    ...{ currency: 'eur', net_cents: 2_500, tax_cents: 575, nano_usd: '27105000000' },
    ...{ rate_month: monthOf(new Date()), usd_per_eur: '1.0842', invoice_number: expect.stringMatching(/\d/) },
  });
  expect(await readCredits(id)).toEqual([{ nano: '27105000000', workspace: payer.workspaceId }]);
  expect((await readTransfers(id)).map(({ transfer }) => transfer)).toEqual([
    'eur_cent psp_clearing fx_bridge 2500',
    'eur_cent psp_clearing vat_payable:IE 575',
    `nano_usd fx_bridge wallet:${payer.workspaceId} 27105000000`,
  ]);
  const { body } = await payer.browser.get(`/account/organizations/${payer.organizationId}/workspaces`);
  expect(body.workspaces[0].status).toBe('active');

  const { pathname, search } = new URL(next);
  const back = await payer.browser.get(pathname + search);
  expect([back.status, back.headers.get('location')]).toEqual([
    303,
    `/organizations/${payer.organizationId}/workspaces/${payer.workspaceId}/billing?top_up=${id}`,
  ]);
  const { body: audit } = await payer.browser.get(`/account/organizations/${payer.organizationId}/audit`);
  const about = audit.lines.filter(({ target }: { target: string }) => target === id);
  expect(about.map(({ action, actor }: { action: string; actor: string }) => [action, actor])).toEqual([
    ['top_up.paid', 'system'],
    ['top_up.started', payer.browser.userId],
  ]);
});

it('computes tax, total and credit before a payment, with the tax of the address once one is known', async () => {
  const payer = await aPayer('eu');
  const preview = (cents: number | string) => payer.browser.get(`${payer.path}/top-up-preview?net_cents=${cents}`);
  const credit = { currency: 'eur', net_cents: 2_500, nano_usd: '27105000000', rate_month: monthOf(new Date()) };
  expect((await preview(2_500)).body).toEqual({
    ...credit,
    ...{ usd_per_eur: '1.0842', tax_cents: null, total_cents: null, is_reverse_charge: false },
  });
  const { id, url } = await start(payer);
  await payments.pay(url, { country: 'FI' });
  await untilState(payer, id, 'invoiced');
  // 25.5 % of 25.00 is 6.375.
  expect((await preview(2_500)).body).toMatchObject({ ...credit, tax_cents: 638, total_cents: 3_138 });
  expect((await preview(499)).body.error).toBe('amount_out_of_range');
  expect((await preview('1e3')).body.error).toBe('invalid_request');
  await payments.order('POST', 'faults/api', [{ fault: 'refuse_503' }] as never);
  expect((await preview(2_500)).body.error).toBe('payments_away');
  expect((await payer.browser.get(`${payer.path}/top-ups`)).body.top_ups).toHaveLength(1);
});

it('gives the page of an open payment again, to members of its organization alone', async () => {
  const payer = await aPayer('us');
  const { id, url } = await start(payer);
  const resume = (who: Payer, path = payer.path) => who.browser.post(`${path}/top-ups/${id}/checkout`);
  expect((await resume(payer)).body).toEqual({ checkout_url: url });
  const other = await aPayer('us');
  expect((await resume(other)).body.error).toBe('organization_not_found');
  expect((await resume(other, other.path)).body.error).toBe('top_up_not_found');
  await payments.pay(url, { country: 'US' });
  expect((await resume(payer)).body.error).toBe('top_up_is_over');
});

it('takes dollars for a workspace in us, without a rate', async () => {
  const payer = await aPayer('us');
  expect((await payer.browser.get(`${payer.path}/billing`)).body).toMatchObject({ currency: 'usd', usd_per_eur: null });
  const { id, url } = await start(payer, 1_234);
  await payments.pay(url, { country: 'US' });
  await untilState(payer, id, 'invoiced');
  expect(await find(payer, id)).toMatchObject({ nano_usd: '12340000000', rate_month: null, usd_per_eur: null });
});

it('credits a payment once, however many settle it and however often its webhooks come', async () => {
  await payments.order('POST', 'faults/webhooks', [
    { fault: 'double' },
    { fault: 'shuffle', delayMs: 300 },
    { fault: 'reset_after', match: { everyNth: 2 } },
  ] as never);
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  await payments.pay(url);
  const settlers = Array.from({ length: 8 }, () =>
    settleTopUp({ ...account, payments: account.payments as never }, id),
  );
  await Promise.all(settlers);
  await untilState(payer, id, 'invoiced');
  expect(await readCredits(id)).toHaveLength(1);
  expect(await readTransfers(id)).toHaveLength(3);
});

it('credits by the nightly sweep where every webhook is lost, and credits none twice', async () => {
  await loseWebhooks();
  const payer = await aPayer('eu');
  const [paid, unpaid] = [await start(payer), await start(payer)];
  await payments.pay(paid.url);
  await until('the sweep that finds the invoice', async () => {
    expect(await account.settleQueue.sweep()).toBe(0);
    return (await find(payer, paid.id)).state === 'invoiced';
  });
  await account.settleQueue.sweep();
  expect(await readCredits(paid.id)).toHaveLength(1);
  expect(await readCredits(unpaid.id)).toEqual([]);
  expect((await find(payer, unpaid.id)).state).toBe('open');
});

it('credits by a job where every webhook is lost', async () => {
  await loseWebhooks();
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  await payments.pay(url);
  await until('the look at the top-up', async () => {
    await account.db.$executeRaw`
      UPDATE pgboss.job SET start_after = now() WHERE name = 'top_up_follow' AND state < 'active' AND data->>'top_up_id' = ${id}`;
    return (await find(payer, id)).state === 'invoiced';
  });
  expect(await readCredits(id)).toHaveLength(1);
});

it('credits by the word of the operator', async () => {
  await loseWebhooks();
  const listener = await startOperatorListener(account);
  const internalHeaders = createTokenIssuer({ key: listener.region.keyOf('operator'), user: 'alice' });
  const operator = createClient(controlPlaneApi, { url: listener.url, internalHeaders, timeoutMs: 30_000 });
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  await payments.pay(url);
  for (let time = 0; time < 2; time += 1)
    expect(await operator.settleTopUp({ params: { top_up_id: id } })).toMatchObject({ nano_usd: 27_105_000_000n });
  expect(await readCredits(id)).toHaveLength(1);
  const { top_ups: all } = await operator.listTopUps({ params: { after: '', workspace_id: payer.workspaceId } });
  expect(all.map(({ top_up_id: each }) => each)).toEqual([id]);
  const unknown = operator.settleTopUp({ params: { top_up_id: 'topup_none' } });
  await expect(unknown).rejects.toMatchObject({ failure: { status: 404, fault: 'top_up_not_found' } });
  await listener.stop();
});

it('credits by the return of a member, and does nothing for anyone else', async () => {
  await loseWebhooks();
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  await payments.pay(url);
  const path = `${CHECKOUT_RETURN_PATH}?top_up=${id}`;
  const stranger = await account.signIn('stranger@example.com');
  for (const other of [account.openBrowser(), stranger]) {
    const { status, headers } = await other.get(path);
    expect([status, headers.get('location')]).toEqual([303, '/']);
  }
  expect(await readCredits(id)).toEqual([]);
  expect((await payer.browser.get(path)).status).toBe(303);
  expect(await readCredits(id)).toHaveLength(1);
  for (const query of ['', '?top_up=none', '?top_up=%00', '?top_up=a&top_up=b']) {
    const { status, headers } = await payer.browser.get(CHECKOUT_RETURN_PATH + query);
    expect([status, headers.get('location')]).toEqual([303, '/']);
  }
});

it('credits nothing for a declined card, and credits the next card', async () => {
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  expect((await payments.pay(url, { card: CARDS.declined })).status).toBe(402);
  await account.settleQueue.sweep();
  expect((await find(payer, id)).state).toBe('open');
  expect((await payments.pay(url)).status).toBe(303);
  await untilState(payer, id, 'invoiced');
});

it('credits nothing if the paid amount is not that of the top-up', async () => {
  const payer = await aPayer('eu');
  await loseWebhooks();
  const { id, url } = await start(payer);
  await payments.pay(url);
  await account.db.execute(sql`UPDATE top_up SET net_cents = 250000 WHERE top_up_id = ${id}`);
  expect(await account.settleQueue.sweep()).toBe(1);
  expect(await readCredits(id)).toEqual([]);
  await account.db.execute(sql`UPDATE top_up SET net_cents = 2500 WHERE top_up_id = ${id}`);
  expect(await account.settleQueue.sweep()).toBe(0);
});

const GERMAN = {
  ...{ name: 'Acme GmbH', line1: 'Musterweg 1', line2: null, postal_code: '10115', city: 'Berlin', state: null },
  ...{ country: 'DE', vat_id: null },
};
const detailsPath = ({ organizationId }: Payer) => `/account/organizations/${organizationId}/billing-details`;
const enter = (payer: Payer, details: object = {}) =>
  payer.browser.send('PUT', detailsPath(payer), { ...GERMAN, ...details });
const readDetails = async (payer: Payer) => (await payer.browser.get(detailsPath(payer))).body;
const untilVatState = (payer: Payer, state: string) =>
  until(`a VAT id that is ${state}`, async () => (await readDetails(payer)).vat_state === state);
const preview = async ({ browser, path }: Payer) => (await browser.get(`${path}/top-up-preview?net_cents=2500`)).body;
/** The VAT ids that the processor has of the organization. */
async function listTaxIds({ organizationId }: Payer): Promise<string[]> {
  const [row] = await account.db.query(sql<{ customer: string }>`
    SELECT psp_customer AS customer FROM billing_account WHERE organization_id = ${organizationId}`);
  const { data } = (await account.payments?.stripe.customers.listTaxIds(row?.customer ?? '')) ?? { data: [] };
  return data.map(({ value }) => value);
}

it('charges no VAT to a business of another member state, once its VAT id is verified', async () => {
  const payer = await aPayer('eu');
  const answer = await enter(payer, { vat_id: ' de 123.456 100 ' });
  expect([answer.status, answer.body]).toEqual([
    ...[200, { ...GERMAN, vat_id: 'DE123456100', vat_state: 'pending', vat_name: null, vat_checked_at: null }],
  ]);
  await untilVatState(payer, 'verified');
  expect(await readDetails(payer)).toMatchObject({ vat_name: 'EXAMPLE BUSINESS', vat_checked_at: expect.any(String) });
  expect(await preview(payer)).toMatchObject({ tax_cents: 0, total_cents: 2_500, is_reverse_charge: true });
  const { id, url } = await start(payer);
  await payments.pay(url, { country: null });
  await untilState(payer, id, 'invoiced');
  expect(await find(payer, id)).toMatchObject({ tax_cents: 0, nano_usd: '27105000000' });
  const { body } = await payer.browser.get(`/account/organizations/${payer.organizationId}/audit`);
  expect(body.lines.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(['billing_details.changed', 'vat_id.checked']),
  );
});

it.each([
  ['unverified', 'DE123456789'],
  ['unavailable', 'DE123456999'],
])('charges VAT to a business whose VAT id is %s, and takes the id off the customer', async (state, vatId) => {
  const payer = await aPayer('eu');
  await enter(payer, { vat_id: vatId });
  await untilVatState(payer, state);
  expect(await listTaxIds(payer)).toEqual([]);
  expect(await preview(payer)).toMatchObject({ tax_cents: 475, is_reverse_charge: false });
  const { id, url } = await start(payer);
  await payments.pay(url, { country: null });
  await untilState(payer, id, 'invoiced');
  expect((await find(payer, id)).tax_cents).toBe(475);
});

it('charges VAT where a change ended before it had stored the VAT id that the processor got', async () => {
  const payer = await aPayer('eu');
  await enter(payer);
  await payments.order('POST', 'faults/api', [
    { fault: 'reset_after', match: { of: 'POST /v1/customers/{id}/tax_ids' }, times: 3 },
  ] as never);
  expect((await enter(payer, { vat_id: 'DE123456789' })).body.error).toBe('payments_away');
  expect(await listTaxIds(payer)).toEqual(['DE123456789']);
  const { id, url } = await start(payer);
  expect(await listTaxIds(payer)).toEqual([]);
  await payments.pay(url, { country: null });
  await untilState(payer, id, 'invoiced');
  expect((await find(payer, id)).tax_cents).toBe(475);
});

it('makes no page while a VAT id is checked, and ends those that are open', async () => {
  await payments.order('POST', 'config', { taxIdDelayMs: 3_600_000 });
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  await enter(payer, { vat_id: 'DE123456100' });
  const refused = await payer.browser.post(`${payer.path}/top-ups`, { net_cents: 1_000 });
  expect([refused.status, refused.body.error]).toEqual([409, 'vat_id_pending']);
  await untilState(payer, id, 'expired');
  await payments.pay(url);
  await payments.order('POST', 'config', { taxIdDelayMs: 200 });
  // Another VAT id has a verdict soon. A job that reads the one before keeps a change out for a moment.
  await until('the change', async () => (await enter(payer, { vat_id: 'DE654321100' })).status === 200);
  await untilVatState(payer, 'verified');
  expect(await readCredits(id)).toEqual([]);
});

it('counts a VAT id without a verdict for a minute as one that cannot be asked about, and asks again at night', async () => {
  await payments.order('POST', 'config', { taxIdDelayMs: 3_600_000 });
  const payer = await aPayer('eu');
  await enter(payer, { vat_id: 'DE123456100' });
  await account.db.execute(sql`
    UPDATE billing_account SET vat_asked_at = now() - INTERVAL '61 seconds' WHERE organization_id = ${payer.organizationId}`);
  await untilVatState(payer, 'unavailable');
  expect(await listTaxIds(payer)).toEqual([]);
  await payments.order('POST', 'config', { taxIdDelayMs: 200 });
  await account.vatIdQueue.askAgain();
  await untilVatState(payer, 'verified');
  expect(await listTaxIds(payer)).toEqual(['DE123456100']);
});

it('asks about a verified VAT id anew after 30 days, and not before', async () => {
  const payer = await aPayer('eu');
  await enter(payer, { vat_id: 'DE123456100' });
  await untilVatState(payer, 'verified');
  const readAsked = async () =>
    (
      await account.db.query(sql<{ asked: string }>`
        SELECT psp_tax_id AS asked FROM billing_account WHERE organization_id = ${payer.organizationId}`)
    )[0]?.asked;
  const first = await readAsked();
  await account.vatIdQueue.askAgain();
  expect(await readAsked()).toBe(first);
  await account.db.execute(sql`
    UPDATE billing_account SET vat_asked_at = now() - INTERVAL '31 days' WHERE organization_id = ${payer.organizationId}`);
  await payments.order('POST', 'faults/api', [
    { fault: 'refuse_503', match: { of: 'POST /v1/customers/{id}/tax_ids' } },
  ] as never);
  await account.vatIdQueue.askAgain();
  expect([await listTaxIds(payer), (await readDetails(payer)).vat_state]).toEqual([[], 'unavailable']);
  await payments.order('DELETE', 'faults');
  await account.vatIdQueue.askAgain();
  expect(await readAsked()).not.toBe(first);
  await untilVatState(payer, 'verified');
  expect(await listTaxIds(payer)).toEqual(['DE123456100']);
});

it('refuses a VAT id that is none or of another country, and changes nothing', async () => {
  const payer = await aPayer('eu');
  expect((await enter(payer, { vat_id: 'FR12345678100' })).body.error).toBe('vat_id_of_another_country');
  expect((await enter(payer, { vat_id: 'DE12' })).body.error).toBe('vat_id_invalid');
  expect((await enter(payer, { country: 'de' })).body.error).toBe('invalid_request');
  expect(await readDetails(payer)).toMatchObject({ name: null, country: null, vat_id: null, vat_state: null });
  await enter(payer);
  expect(await readDetails(payer)).toMatchObject({ ...GERMAN, vat_state: null });
  expect(await preview(payer)).toMatchObject({ tax_cents: 475 });
});

it('taxes a buyer in Monaco as one in France, and takes a French VAT id from a business there', async () => {
  const payer = await aPayer('eu');
  const monaco = { country: 'MC', postal_code: '98000', city: 'Monaco' };
  await enter(payer, monaco);
  const { id, url } = await start(payer);
  await payments.pay(url, { country: null });
  await untilState(payer, id, 'invoiced');
  expect((await readTransfers(id)).map(({ transfer }) => transfer)).toContain(
    'eur_cent psp_clearing vat_payable:FR 500',
  );
  expect((await enter(payer, { ...monaco, vat_id: 'FR12345678100' })).status).toBe(200);
  await untilVatState(payer, 'verified');
  expect(await preview(payer)).toMatchObject({ tax_cents: 0, is_reverse_charge: true });
});

it('makes the page of a top-up that the sweep looks at meanwhile', async () => {
  const payer = await aPayer('eu');
  await payments.order('POST', 'faults/api', [{ fault: 'slow', match: { of: 'POST /v1/checkout/sessions' } }] as never);
  const started = start(payer);
  await until('a top-up', async () => {
    const { body } = await payer.browser.get(`${payer.path}/top-ups`);
    return body.top_ups.length === 1;
  });
  await account.settleQueue.sweep();
  const { id, url } = await started;
  await payments.pay(url);
  await untilState(payer, id, 'invoiced');
});

it('makes no page while the details change, and reads a known verdict again without a change', async () => {
  const payer = await aPayer('eu');
  await enter(payer, { vat_id: 'DE123456100' });
  await untilVatState(payer, 'verified');
  await account.db.execute(sql`
    UPDATE billing_account SET changing_until = now() + interval '1 hour' WHERE organization_id = ${payer.organizationId}`);
  expect(await readVerdict({ ...account, payments: account.payments as never }, payer.organizationId)).toBe('verified');
  const refused = await payer.browser.post(`${payer.path}/top-ups`, { net_cents: 1_000 });
  expect([refused.status, refused.body.error]).toEqual([409, 'details_are_changing']);
});

it('ends the pages that are open where the address changes, and gives out none that was made for the old one', async () => {
  const payer = await aPayer('eu');
  await enter(payer);
  const { id, url } = await start(payer);
  await payments.order('POST', 'faults/api', [
    { fault: 'slow', delayMs: 2_000, match: { of: 'POST /v1/checkout/sessions' } },
  ] as never);
  const late = payer.browser.post(`${payer.path}/top-ups`, { net_cents: 1_000 });
  await until('a second top-up', async () => {
    const { body } = await payer.browser.get(`${payer.path}/top-ups`);
    return body.top_ups.length === 2;
  });
  expect((await enter(payer, { country: 'FR', postal_code: '75001', city: 'Paris' })).status).toBe(200);
  const { status, body } = await late;
  expect([status, body.error]).toEqual([409, 'details_are_changing']);
  await untilState(payer, id, 'expired');
  await payments.pay(url, { country: null });
  await account.settleQueue.sweep();
  expect(await readCredits(id)).toEqual([]);
});

it('removes a VAT id with its field, and lets one change at a time call the processor', async () => {
  const payer = await aPayer('eu');
  await enter(payer, { vat_id: 'DE123456100' });
  await untilVatState(payer, 'verified');
  const answers = await Promise.all([enter(payer), enter(payer), enter(payer)]);
  for (const { status, body } of answers)
    expect(status === 200 ? body.vat_id : body.error).toBe(status === 200 ? null : 'details_are_changing');
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  expect(await listTaxIds(payer)).toEqual([]);
  expect(await preview(payer)).toMatchObject({ tax_cents: 475, is_reverse_charge: false });
});

const documentsPath = ({ organizationId }: Payer) => `/account/organizations/${organizationId}/documents`;
const listDocuments = async (payer: Payer) => (await payer.browser.get(documentsPath(payer))).body.documents;
const untilDocuments = (payer: Payer, count: number) =>
  until(`${count} documents`, async () => {
    const documents = await listDocuments(payer);
    return documents.length === count && documents;
  });
/** The files in the store of documents, by their places in it. */
const listFiles = async (part: string) =>
  (await readdir(payments.documentFolder, { recursive: true })).filter(
    (name) => name.includes(part) && /\.(pdf|json)/.test(name),
  );

it('copies each invoice and credit note with its hash, and gives the bytes to members of its organization alone', async () => {
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  await payments.pay(url, { country: 'IE' });
  await untilState(payer, id, 'invoiced');
  const { invoice_number: number } = await find(payer, id);
  const [invoice] = await untilDocuments(payer, 1);
  expect(invoice).toEqual({
    ...{ document_id: expect.stringMatching(/^in_/), kind: 'invoice', number, status: 'paid', invoice_number: null },
    ...{ currency: 'eur', total_cents: 3_075, tax_cents: 575, issued_at: expect.any(String) },
  });
  const stripe = account.payments?.stripe;
  await stripe?.creditNotes.create({ invoice: invoice.document_id, refund_amount: 1_230, amount: 1_230 });
  const [note] = await untilDocuments(payer, 2);
  expect(note).toMatchObject({ kind: 'credit_note', status: 'issued', invoice_number: number, total_cents: 1_230 });

  const download = (who: Payer, at = payer, format = 'pdf') =>
    fetch(`${account.url}${documentsPath(at)}/${invoice.document_id}/${format}`, {
      headers: { cookie: [...who.browser.cookies].map((pair) => pair.join('=')).join('; ') },
    });
  const listener = await startOperatorListener(account);
  const internalHeaders = createTokenIssuer({ key: listener.region.keyOf('operator'), user: 'alice' });
  const operator = createClient(controlPlaneApi, { url: listener.url, internalHeaders, timeoutMs: 30_000 });
  const known = await operator.getDocument({ params: { document: number } });
  const { documents: all } = await operator.listDocuments({
    params: { after: '', organization_id: payer.organizationId },
  });
  expect(all).toHaveLength(2);
  for (const [format, sha256] of [
    ['pdf', known.pdf_sha256],
    ['json', known.json_sha256],
  ] as const) {
    const response = await download(payer, payer, format);
    expect([response.status, response.headers.get('content-disposition')]).toEqual([
      ...[200, `attachment; filename="Invoice-${number}.${format}"`],
    ]);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    if (format === 'json')
      expect(JSON.parse(bytes.toString())).toMatchObject({ id: invoice.document_id, total: 3_075 });
    else expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
  }
  const other = await aPayer('eu');
  expect((await download(other)).status).toBe(404);
  expect((await download(other, other)).status).toBe(404);
  expect((await download(payer, payer, 'xml')).status).toBe(404);
  await listener.stop();

  const [file = ''] = await listFiles(`${invoice.document_id}/`).then((names) =>
    names.filter((name) => /pdf/.test(name)),
  );
  await writeFile(join(payments.documentFolder, file), 'another invoice');
  expect((await download(payer)).status).toBe(500);
  await expect(
    account.db.execute(sql`UPDATE document SET total_cents = 1 WHERE document_id = ${invoice.document_id}`),
  ).rejects.toThrow();
});

it('copies a document once, by the nightly sweep where every webhook is lost', async () => {
  await loseWebhooks();
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  await payments.pay(url, { country: 'IE' });
  await until('the invoice', async () => {
    await account.settleQueue.sweep();
    return (await find(payer, id)).state === 'invoiced';
  });
  expect(await listDocuments(payer)).toEqual([]);
  await payments.order('POST', 'faults/api', [
    { fault: 'refuse_503', match: { of: 'GET /v1/invoices/{id}', nth: 1 }, times: 3 },
  ] as never);
  const sweeps = Array.from({ length: 3 }, () => account.documentQueue.sweep());
  expect(await Promise.all(sweeps)).toEqual([0, 0, 0]);
  await payments.order('DELETE', 'faults');
  expect(await account.documentQueue.sweep()).toBe(0);
  const [invoice] = await untilDocuments(payer, 1);
  expect(await listFiles(`${invoice.document_id}/`)).toHaveLength(2);
});

function sign(body: string, { secret = WEBHOOK_SECRET, at = Date.now() } = {}): string {
  const time = Math.floor(at / 1_000);
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}
const sendWebhook = (body: string, headers: Record<string, string>) =>
  fetch(account.url + WEBHOOK_PATH, { method: 'POST', body, headers });
const anEvent = (id: string, topUpId: string, type = 'checkout.session.completed') =>
  JSON.stringify({ id, object: 'event', type, data: { object: { metadata: { top_up_id: topUpId } } } });
const readEvents = (id: string) =>
  account.db.query(sql<{ done: boolean }>`SELECT done_at IS NOT NULL AS done FROM psp_event WHERE event_id = ${id}`);

it('stores a webhook once, works it off, and credits nothing that the processor does not have', async () => {
  const payer = await aPayer('eu');
  const { id } = await start(payer);
  const eventId = `evt_${randomUUID()}`;
  const body = anEvent(eventId, id);
  for (let time = 0; time < 3; time += 1)
    expect((await sendWebhook(body, { 'stripe-signature': sign(body) })).status).toBe(200);
  await until('the end of the job', async () => (await readEvents(eventId))[0]?.done);
  expect(await readEvents(eventId)).toHaveLength(1);
  expect((await find(payer, id)).state).toBe('open');
  expect(await readCredits(id)).toEqual([]);
});

it.each([
  ['without a signature', () => ({})],
  ['with another signature', () => ({ 'stripe-signature': 't=1,v1=00' })],
  ['signed by another secret', (body: string) => ({ 'stripe-signature': sign(body, { secret: 'whsec_other' }) })],
  ['signed for another body', (body: string) => ({ 'stripe-signature': sign(`${body} `) })],
  ['that is 6 minutes old', (body: string) => ({ 'stripe-signature': sign(body, { at: Date.now() - 360_000 }) })],
  ['of the future', (body: string) => ({ 'stripe-signature': sign(body, { at: Date.now() + 360_000 }) })],
])('refuses a webhook %s, and stores nothing', async (_case, toHeaders) => {
  const payer = await aPayer('eu');
  const { id } = await start(payer);
  const eventId = `evt_${randomUUID()}`;
  const body = anEvent(eventId, id);
  const answer = await sendWebhook(body, toHeaders(body) as Record<string, string>);
  expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ error: 'forged_webhook' })]);
  expect(await readEvents(eventId)).toEqual([]);
});

it('refuses a webhook with a body that is too large, and answers one about nothing of ours without storing it', async () => {
  const large = JSON.stringify({ text: 'x'.repeat(600_000) });
  const refused = await sendWebhook(large, { 'stripe-signature': sign(large) });
  expect([refused.status, await refused.json()]).toEqual([
    400,
    expect.objectContaining({ error: 'unreadable_webhook' }),
  ]);
  for (const body of [
    anEvent('evt_of_none', 'topup_none'),
    anEvent('evt_of_none', 'topup_none', 'charge.succeeded'),
    JSON.stringify({ id: 'evt_of_none', object: 'event', type: 'invoice.paid', data: { object: {} } }),
  ])
    expect((await sendWebhook(body, { 'stripe-signature': sign(body) })).status).toBe(200);
  expect(await readEvents('evt_of_none')).toEqual([]);
});

it('refuses amounts outside of the range of the currency', async () => {
  const payer = await aPayer('eu');
  for (const netCents of [499, 500_001]) {
    const { status, body } = await payer.browser.post(`${payer.path}/top-ups`, { net_cents: netCents });
    expect([status, body.error, body.message]).toEqual([
      ...[400, 'amount_out_of_range'],
      'The amount must be from 5 to 5000 EUR.',
    ]);
  }
  for (const netCents of [0, -500, 12.5, '1000', null]) {
    const { status, body } = await payer.browser.post(`${payer.path}/top-ups`, { net_cents: netCents });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
  }
  const other = await aPayer('eu');
  const foreign = await payer.browser.post(`${payer.path.replace(payer.workspaceId, other.workspaceId)}/top-ups`, {
    net_cents: 1_000,
  });
  expect([foreign.status, foreign.body.error]).toEqual([404, 'unknown_workspace']);
});

it('opens ten pages of an organization at most, and none while it is on hold', async () => {
  const payer = await aPayer('eu');
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => payer.browser.post(`${payer.path}/top-ups`, { net_cents: 1_000 })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
  expect(answers.filter(({ body }) => body.error === 'too_many_top_ups')).toHaveLength(2);

  const held = await aPayer('eu');
  const { organizationId } = held;
  await openHold(account.db, { organizationId, reason: 'fraud_review', note: '', by: 'operator:alice' }, BY);
  const { status, body } = await held.browser.post(`${held.path}/top-ups`, { net_cents: 1_000 });
  expect([status, body.error]).toEqual([409, 'organization_on_hold']);
});

it('opens a page once the processor answers again, however often it was asked for while it was away', async () => {
  const payer = await aPayer('eu');
  await payments.order('POST', 'faults/api', [{ fault: 'refuse_503' }] as never);
  const asked = Array.from({ length: 10 }, () => payer.browser.post(`${payer.path}/top-ups`, { net_cents: 1_000 }));
  expect((await Promise.all(asked)).map(({ body }) => body.error)).toEqual(Array(10).fill('payments_away'));
  await payments.order('DELETE', 'faults');
  await start(payer);
});

it('makes one customer for an organization, whoever pays at once', async () => {
  const payer = await aPayer('eu');
  await Promise.all(Array.from({ length: 4 }, () => start(payer)));
  const [row] = await account.db.query(sql<{ customer: string }>`
    SELECT psp_customer AS customer FROM billing_account WHERE organization_id = ${payer.organizationId}`);
  const sessions = await account.payments?.stripe.checkout.sessions.list({ customer: row?.customer ?? '' });
  expect(sessions?.data).toHaveLength(4);
});

it('says that the processor is away, opens no page, and charges once where an answer is lost', async () => {
  const payer = await aPayer('eu');
  await payments.order('POST', 'faults/api', [{ fault: 'refuse_503' }] as never);
  const { status, body } = await payer.browser.post(`${payer.path}/top-ups`, { net_cents: 1_000 });
  expect([status, body.error]).toEqual([502, 'payments_away']);
  const { body: list } = await payer.browser.get(`${payer.path}/top-ups`);
  expect(list.top_ups.map(({ state }: { state: string }) => state)).toEqual(['expired']);
  await payments.order('DELETE', 'faults');

  await payments.order('POST', 'faults/api', [{ fault: 'reset_after', times: 2 }] as never);
  const { id, url } = await start(payer);
  await payments.order('DELETE', 'faults');
  await payments.pay(url);
  await untilState(payer, id, 'invoiced');
  expect(await readCredits(id)).toHaveLength(1);
});

it('takes no euros in a month without a rate, and no money at all without a processor', async () => {
  const withoutRate = await startAccount({ paymentProcessor: payments.settings });
  const inEuros = await aPayer('eu', withoutRate);
  expect((await inEuros.browser.get(`${inEuros.path}/billing`)).body).toMatchObject({
    is_open: false,
    rate_month: null,
  });
  const refused = await inEuros.browser.post(`${inEuros.path}/top-ups`, { net_cents: 1_000 });
  expect([refused.status, refused.body.error]).toEqual([503, 'euro_rate_missing']);
  await start(await aPayer('us', withoutRate));
  await withoutRate.stop();

  const withoutProcessor = await startAccount();
  const payer = await aPayer('us', withoutProcessor);
  expect((await payer.browser.get(`${payer.path}/billing`)).body).toMatchObject({ currency: 'usd', is_open: false });
  const { status, body } = await payer.browser.post(`${payer.path}/top-ups`, { net_cents: 1_000 });
  expect([status, body.error]).toEqual([409, 'billing_not_provisioned']);
  const webhook = await fetch(withoutProcessor.url + WEBHOOK_PATH, { method: 'POST', body: '{}' });
  expect(webhook.status).toBe(404);
  await withoutProcessor.stop();
});

it('credits what was paid and nothing else, whatever happens in whatever order', async () => {
  await loseWebhooks();
  const payer = await aPayer('eu');
  const step = fc.record({
    top: fc.nat(2),
    act: fc.constantFrom('pay', 'settle', 'settle', 'event', 'sweep', 'decline', 'reset'),
    crash: fc.oneof(fc.nat(14), fc.constant(NEVER)),
  });
  const db = account.db;
  const settle = (id: string, crash: number) =>
    settleTopUp({ ...account, db: crashingDb(db, crash), payments: account.payments as never }, id).catch(
      () => undefined,
    );
  let credited = 0n;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      await db.execute(sql`UPDATE top_up SET session_ends_at = '2020-01-01' WHERE state IN ('created', 'open')`);
      const tops = [await start(payer, 500), await start(payer, 1_000), await start(payer, 2_500)];
      const paid = new Set<string>();
      await Promise.all(
        steps.map(async ({ top, act, crash }) => {
          const { id, url } = tops[top] as { id: string; url: string };
          if (act === 'settle') await settle(id, crash);
          else if (act === 'sweep') await account.settleQueue.sweep();
          else if (act === 'reset')
            await payments.order('POST', 'faults/api', [{ fault: 'reset_after', times: 1 }] as never);
          else if (act === 'event') {
            const body = anEvent(`evt_${id}_${crash}`, id);
            await sendWebhook(body, { 'stripe-signature': sign(body) });
          } else {
            const { next } = await payments.pay(url, { card: act === 'pay' ? CARDS.pays : CARDS.declined });
            if (act === 'pay' && next.includes(CHECKOUT_RETURN_PATH)) paid.add(id);
          }
        }),
      );
      await until('the end of all payments', async () => {
        await account.settleQueue.sweep();
        const states = await Promise.all(tops.map(async ({ id }) => (await find(payer, id)).state));
        return states.every((state, index) => state === (paid.has(tops[index]?.id ?? '') ? 'invoiced' : 'open'));
      });
      for (const { id } of tops) {
        const credits = await readCredits(id);
        expect(credits).toHaveLength(paid.has(id) ? 1 : 0);
        for (const { nano } of credits) credited += BigInt(nano);
      }
      const sums = await db.query(sql<{ difference: string }>`
        SELECT sum(debits - credits)::TEXT AS difference FROM ledger_balance GROUP BY unit`);
      expect(sums.every(({ difference }) => difference === '0')).toBe(true);
      const [wallet] = await db.query(sql<{ credited: string }>`
        SELECT credited_nano_usd::TEXT AS credited FROM wallet WHERE workspace_id = ${payer.workspaceId}`);
      expect(wallet?.credited).toBe(String(credited));
    }),
    { numRuns: RUNS },
  );
  // The books have the charges of the processor, to the cent.
  const { currencies } = await payments.order<{ currencies: Record<string, { charged: number }> }>('GET', 'truth');
  for (const [currency, { charged }] of Object.entries(currencies)) {
    const [clearing] = await db.query(sql<{ debits: string }>`
      SELECT debits::TEXT AS debits FROM ledger_balance WHERE account_id = 'psp_clearing' AND unit = ${`${currency}_cent`}`);
    expect([currency, clearing?.debits]).toEqual([currency, String(charged)]);
  }
});

/** Buyers of eight countries with the tax that each is due, in basis points. A business of another member state owes it itself. */
const BUYERS: { country: string; basisPoints: number; vatId?: string }[] = [
  { country: 'IE', basisPoints: 2_300 },
  { country: 'DE', basisPoints: 0, vatId: 'DE123456100' },
  { country: 'FR', basisPoints: 2_000 },
  { country: 'FI', basisPoints: 0, vatId: 'FI12345100' },
  { country: 'GR', basisPoints: 2_400 },
  { country: 'SE', basisPoints: 0, vatId: 'SE123456789100' },
  { country: 'CH', basisPoints: 0 },
  { country: 'US', basisPoints: 0 },
  { country: 'FI', basisPoints: 2_550 },
  { country: 'FR', basisPoints: 0, vatId: 'FR12345678100' },
  { country: 'SE', basisPoints: 2_500 },
  { country: 'GR', basisPoints: 0, vatId: 'EL123456100' },
  { country: 'DE', basisPoints: 1_900 },
  // The seller is in Ireland, so its business pays the tax of its own country.
  { country: 'IE', basisPoints: 2_300, vatId: 'IE1234567100' },
];
/** `TOP_UPS=1000` makes a thousand. */
const TOP_UPS = Number(process.env.TOP_UPS ?? 10);
const AT_ONCE = 4;
/** Jobs copy some documents a second. */
const COPIED_WITHIN_MS = 500;

interface Documented {
  status: string;
  number: string | null;
  subtotal: number;
  total: number;
  total_taxes: { amount: number }[] | null;
  metadata: { top_up_id?: string } | null;
}

it('has the sums and the tax of the processor for consumers and businesses of all countries, in both currencies', async () => {
  const payers = await Promise.all(
    BUYERS.slice(0, TOP_UPS).map(async ({ country, vatId = null }) => {
      const inEuros = await aPayer('eu');
      const path = `/account/organizations/${inEuros.organizationId}/workspaces`;
      const { body } = await inEuros.browser.post(path, { region: 'us', name: 'Acme' });
      expect((await enter(inEuros, { country, vat_id: vatId })).status).toBe(200);
      if (vatId !== null) await untilVatState(inEuros, 'verified');
      return [inEuros, { ...inEuros, workspaceId: body.workspace_id, path: `${path}/${body.workspace_id}` }] as const;
    }),
  );
  const expected = new Map<string, { netCents: number; taxCents: number }>();
  const left = Array.from({ length: TOP_UPS }, (_, index) => index);
  const work = async (): Promise<void> => {
    for (let index = left.shift(); index !== undefined; index = left.shift()) {
      const buyer = index % payers.length;
      const payer = payers[buyer]?.[Math.floor(index / payers.length) % 2 === index % 2 ? 0 : 1] as Payer;
      // Every amount of cents has its own rounding.
      const netCents = 500 + ((index * 7_919) % 49_501);
      const { id, url } = await start(payer, netCents);
      await payments.pay(url, { country: null });
      // Settles as the return page does, beside the webhooks. An organization has ten open pages at most.
      await settleTopUp({ ...account, payments: account.payments as never }, id);
      expected.set(id, { netCents, taxCents: Math.round((netCents * (BUYERS[buyer]?.basisPoints ?? 0)) / 10_000) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const ids = [...expected.keys()];
  const count = async (statement: ReturnType<typeof sql<{ count: number }>>) =>
    (await account.db.query(statement))[0]?.count;
  await until(
    'every document',
    async () => {
      const copied = await count(sql`
      SELECT count(*)::INTEGER AS count FROM top_up JOIN document ON document_id = top_up.invoice_id
      WHERE state = 'invoiced' AND document.kind = 'invoice' AND top_up_id = ANY(${ids})`);
      return copied === TOP_UPS;
    },
    45_000 + TOP_UPS * COPIED_WITHIN_MS,
  );
  const rows = await account.db.query(
    sql<{
      id: string;
      net: number;
      tax: number;
      currency: string;
      nano: string;
      number: string;
      total: number;
      copied: number;
    }>`
    SELECT top_up_id AS id, net_cents::FLOAT AS net, top_up.tax_cents::FLOAT AS tax, top_up.currency, nano_usd::TEXT AS nano,
      invoice_number AS number, total_cents::FLOAT AS total, document.tax_cents::FLOAT AS copied
    FROM top_up JOIN document ON document_id = top_up.invoice_id WHERE top_up_id = ANY(${ids})`,
  );
  expect(new Set(rows.map(({ currency }) => currency))).toEqual(new Set(['eur', 'usd']));
  const { invoices } = await payments.order<{ invoices: Documented[] }>('GET', 'log');
  const byTopUp = new Map(invoices.map((invoice) => [invoice.metadata?.top_up_id, invoice]));
  for (const { id, net, tax, currency, nano, number, total, copied } of rows) {
    const { netCents, taxCents } = expected.get(id) ?? { netCents: 0, taxCents: 0 };
    expect({ id, net, tax, total, copied }).toEqual({
      ...{ id, net: netCents, tax: taxCents, total: netCents + taxCents, copied: taxCents },
    });
    expect(nano).toBe(String(BigInt(netCents) * (currency === 'eur' ? 10_842_000n : 10_000_000n)));
    const invoice = byTopUp.get(id);
    expect(invoice).toMatchObject({ status: 'paid', number, subtotal: netCents, total: netCents + taxCents });
    expect((invoice?.total_taxes ?? []).reduce((sum, { amount }) => sum + amount, 0)).toBe(taxCents);
  }
  const numbers = invoices.flatMap(({ number }) => /^TURN-(\d+)$/.exec(number ?? '')?.[1] ?? []).map(Number);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
}, 3_600_000);

it('starts with a live key only where tax, registrations and numbering are set at the processor', async () => {
  const { stripe } = openPayments(payments.settings);
  const lines: string[] = [];
  const log = {
    warn: (line: string) => lines.push(line),
    error: (_: object, line: string) => lines.push(line),
  } as never;
  const check = (isLive: boolean) => checkProcessor({ stripe, isLive }, log);
  await check(true);
  expect(lines).toEqual([]);

  await payments.order('POST', 'settings', { tax_status: 'pending' });
  await expect(check(true)).rejects.toThrow(
    /^The payment processor is not ready\. Tax is not active, because it lacks /,
  );
  await check(false);
  expect(lines).toEqual([expect.stringMatching(/Tax is not active.* With a live key this service would not start\.$/)]);
  await payments.order('POST', 'settings', { tax_status: 'active' });

  await payments.order('POST', 'config', { numbering: 'customer' });
  const payer = await aPayer('eu');
  const { id, url } = await start(payer);
  await payments.pay(url);
  await untilState(payer, id, 'invoiced');
  await expect(check(true)).rejects.toThrow('Invoices are numbered for each customer');
  await payments.order('POST', 'config', { numbering: 'account' });

  const { data: registrations } = await stripe.tax.registrations.list();
  for (const { id: registration } of registrations)
    await stripe.tax.registrations.update(registration, { expires_at: 'now' });
  await expect(check(true)).rejects.toThrow('No tax registration is active');

  const stranger = openPayments({ ...payments.settings, secret_key: 'sk_test_of_another_account' });
  await expect(checkProcessor({ ...stranger, isLive: true }, log)).rejects.toThrow('The secret key is refused');
  await payments.order('POST', 'faults/api', [{ fault: 'refuse_503' }] as never);
  lines.length = 0;
  await check(true);
  expect(lines).toEqual(['the settings of the payment processor cannot be checked: it does not answer']);
});

// The last tests, because the processor's clock goes forward alone.
it('credits nothing for a page that expires', async () => {
  const payer = await aPayer('eu');
  const { id } = await start(payer);
  await payments.order('POST', 'advance', { ms: 2 * 3_600_000 });
  await untilState(payer, id, 'expired');
  expect(await readCredits(id)).toEqual([]);
});

it('ends a page with the month whose rate it offers, and says on one that outlives the month which rate counts', async () => {
  const payer = await aPayer('eu');
  const { settleQueue } = account;
  const { stripe } = account.payments as NonNullable<typeof account.payments>;
  const begun = new Date();
  // The end of the next month, so that it is far enough.
  const monthEnd = Date.UTC(begun.getUTCFullYear(), begun.getUTCMonth() + 2);
  const observations = [{ period: monthOf(begun), value: '1.0842' }];
  const file = { series: 'a test', sha256: 'a'.repeat(64), observations, isConfirmed: true, by: 'a test' };
  await importRates(account.db, file, new Date(monthEnd - 1));
  const advance = async (ms: number) => (await payments.order<{ now: number }>('POST', 'advance', { ms })).now * 1_000;
  const openAt = async (now: number) => {
    await advance(now - (await advance(0)));
    const { organizationId, workspaceId, browser } = payer;
    const started = await startTopUp(
      { ...account, payments: account.payments, settleQueue, accountOrigin: 'https://account.example' },
      { organizationId, workspaceId, userId: browser.userId, netCents: 1_000 },
      BY,
      new Date(now),
    );
    const session = started.checkout_url.replace(/^.*\//, '');
    const { expires_at: expiresAt, custom_text: text } = await stripe.checkout.sessions.retrieve(session);
    return [(expiresAt * 1_000 - monthEnd) / 60_000, text.submit === null];
  };
  expect(await openAt(monthEnd - 40 * 60_000)).toEqual([0, true]);
  expect(await openAt(monthEnd - 10 * 60_000)).toEqual([50, false]);
});
