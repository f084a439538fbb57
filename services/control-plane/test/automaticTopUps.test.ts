import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { toMandateText } from '@turnpike/console-api/mandateText';
import { sql } from '@turnpike/postgres/sql';
import { payAt, type TEST_CARDS } from '@turnpike/test-support/payAt';
import { until } from '@turnpike/test-support/until';
import { setAccountLimit } from '../src/billing/accountLimit.ts';
import type { Payments } from '../src/billing/paymentProcessor.ts';
import { settleTopUp } from '../src/billing/settleTopUp.ts';
import { putDayTotals } from '../src/day-totals/dayTotals.ts';
import { endHold, openHold } from '../src/holds/holds.ts';
import { adjustCredit } from '../src/organizations/adjustCredit.ts';
import { importRates, monthOf } from '../src/rates/rates.ts';
import { crashingDb } from './crashAt.ts';
import { type Browser, startAccount, type TestAccount } from './startAccount.ts';
import { startPayments, type TestPayments } from './startPayments.ts';

const BY = { address: '', browser: '', requestId: '' };
const DUBLIN = { country: 'IE', postal_code: 'D02', line1: '1 Quay', city: 'Dublin' };
/** €10 at 1.0842. */
const CREDIT = 10_842_000_000n;
const EPOCH = randomUUID();
const TODAY = new Date().toISOString().slice(0, 10);

let account: TestAccount;
let payments: TestPayments;
beforeAll(async () => {
  payments = await startPayments();
  account = await startAccount({ paymentProcessor: payments.settings });
  await payments.sendTo(account.url);
  await importRate();
  for (const [card, needed] of Object.entries(NEEDED) as [keyof typeof NEEDED, number][]) {
    const payers: Payer[] = [];
    while (payers.length < needed)
      payers.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => makePayer(card)))));
    ready[card] = payers;
  }
});
afterAll(async () => {
  await account.stop();
  await payments.close();
});
beforeEach(async () => {
  await payments.order('DELETE', 'faults');
});

/** Imports the rate of this month. */
async function importRate(): Promise<void> {
  const period = monthOf(new Date(new Date().setUTCDate(0)));
  const observations = [{ period, value: '1.0842' }];
  await importRates(account.db, {
    ...{ series: 'a test', sha256: 'a'.repeat(64), observations, isConfirmed: true, by: 'a test' },
  });
}

interface Payer {
  browser: Browser & { userId: string };
  address: string;
  organizationId: string;
  workspaceId: string;
  path: string;
}

/** Payers are made together, because each waits for mails and jobs. */
const ready: Record<string, Payer[]> = {};
const AT_ONCE = 4;
const NEEDED = { pays: 27, isDeclinedLater: 2, asksAlways: 2 } as const;

/** An owner of a workspace whose card was saved by a first payment of €10. */
function aPayer(card: keyof typeof NEEDED = 'pays'): Payer {
  const payer = ready[card]?.pop();
  if (!payer) throw new Error(`there are too few payers whose card ${card}`);
  return payer;
}

async function makePayer(card: keyof typeof TEST_CARDS): Promise<Payer> {
  const address = `${randomUUID()}@example.com`;
  const browser = await account.signIn(address);
  await account.db.user.updateMany({ where: { userId: browser.userId }, data: { welcomedAt: new Date() } });
  const { body } = await browser.post('/account/organizations', { name: 'Acme' });
  const organizationId = body.organization_id;
  const workspaces = `/account/organizations/${organizationId}/workspaces`;
  const workspaceId = (await browser.post(workspaces, { region: 'eu', name: 'Acme' })).body.workspace_id;
  const path = `${workspaces}/${workspaceId}`;
  const { body: started } = await browser.post(`${path}/top-ups`, { net_cents: 1_000 });
  await payAt(started.checkout_url, { card, address: DUBLIN });
  const payer = { browser, address, organizationId, workspaceId, path };
  await until('the first payment', async () => (await listTopUps(payer))[0]?.state === 'invoiced');
  return payer;
}

interface TopUp {
  top_up_id: string;
  kind: string;
  state: string;
  net_cents: number;
  tax_cents: number | null;
  nano_usd: string | null;
  invoice_number: string | null;
}
const listTopUps = async ({ browser, path }: Payer): Promise<TopUp[]> =>
  (await browser.get(`${path}/top-ups`)).body.top_ups;
const listAutomatic = async (payer: Payer): Promise<TopUp[]> =>
  (await listTopUps(payer)).filter(({ kind }) => kind === 'automatic');
const untilAutomatic = (payer: Payer, state: string): Promise<TopUp> =>
  until(`an automatic top-up that is ${state}`, async () =>
    (await listAutomatic(payer)).find((topUp) => topUp.state === state),
  );
const readRule = async ({ browser, path }: Payer) => (await browser.get(`${path}/automatic-top-up`)).body;
const TERMS = { threshold: 5_000_000_000n, net: 2_500, day: 10_000, month: 50_000 };

/** Switches the automatic top-up on: €25 where the balance falls below $5. */
async function switchOn(payer: Payer, terms: Partial<typeof TERMS> = {}) {
  const { threshold, net, day, month } = { ...TERMS, ...terms };
  const { body } = await payer.browser.get(`/account/organizations/${payer.organizationId}/cards`);
  const [card] = body.cards;
  const text = toMandateText({
    ...{
      currency: 'eur',
      netCents: net,
      thresholdNanoUsd: threshold,
      dayLimitCents: day,
      monthLimitCents: month,
      card,
    },
  });
  return payer.browser.send('PUT', `${payer.path}/automatic-top-up`, {
    ...{ card_id: card?.card_id ?? 'none', threshold_nano_usd: String(threshold), net_cents: net },
    ...{ day_limit_cents: day, month_limit_cents: month, confirmed_text: text },
  });
}

let lastSeq = 0;
/** The region reports what the workspace spent today. */
function report({ workspaceId }: Payer, nanoUsd: bigint) {
  lastSeq += 1;
  return putDayTotals(account, 'eu', {
    epoch: EPOCH,
    totals: [{ workspace_id: workspaceId, day: TODAY, spend_nano_usd: nanoUsd, requests: 1, seq: lastSeq }],
  });
}
const settle = (id: string, db = account.db) =>
  settleTopUp({ ...account, db, payments: account.payments as never }, id);

const readCredits = (id: string) =>
  account.db.query(sql<{ nano: string }>`SELECT body->>'nano_usd' AS nano FROM feed WHERE body->>'credit_id' = ${id}`);
/** The charges that the processor made to the cards of a payer, but the first one. */
async function listCharges({ organizationId }: Payer): Promise<{ amount: number; paid: boolean }[]> {
  const [row] = await account.db.query(sql<{ customer: string }>`
    SELECT psp_customer AS customer FROM billing_account WHERE organization_id = ${organizationId}`);
  const { data } = (await account.payments?.stripe.charges.list({ customer: row?.customer ?? '', limit: 100 })) ?? {
    data: [],
  };
  return data
    .map(({ amount, paid }) => ({ amount, paid }))
    .toReversed()
    .slice(1);
}
/** The mails to a payer with this in their subject, once there are so many. */
const untilMails = (payer: Payer, subject: string, count: number) =>
  until(`${count} mails '${subject}'`, async () => countMails(payer, subject) === count);
const countMails = ({ address }: Payer, subject: string): number =>
  account.mails.filter(({ to, text }) => to === address && text.includes(`Subject: ${subject}`)).length;
/** Lets the declines and payments of a workspace be so much older. */
const ageDeclines = ({ workspaceId }: Payer, hours: number) =>
  account.db.execute(sql`
    UPDATE top_up SET failed_at = failed_at - make_interval(hours => ${hours}::INTEGER),
      charged_at = charged_at - make_interval(hours => ${hours}::INTEGER)
    WHERE workspace_id = ${workspaceId}`);

it('charges the saved card once the region reports a balance below the threshold, with tax and an invoice', async () => {
  const payer = aPayer();
  expect(await readRule(payer)).toMatchObject({ state: 'off', off_reason: null, card: null, confirmed: null });
  const { status, body } = await switchOn(payer);
  expect([status, body]).toEqual([
    200,
    expect.objectContaining({
      ...{ state: 'on', currency: 'eur', threshold_nano_usd: '5000000000', net_cents: 2_500, charged_month_cents: 0 },
      card: expect.objectContaining({ brand: 'visa', last4: '4242' }),
      confirmed: expect.objectContaining({
        by: payer.browser.userId,
        text: expect.stringContaining('below $5.00, Turnpike charges €25.00'),
      }),
    }),
  ]);
  await report(payer, CREDIT - TERMS.threshold);
  expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();

  await report(payer, CREDIT - TERMS.threshold + 1n);
  const paid = await untilAutomatic(payer, 'invoiced');
  expect(paid).toMatchObject({ net_cents: 2_500, tax_cents: 575, nano_usd: '27105000000' });
  expect(paid.invoice_number).toMatch(/\d/);
  expect(await readCredits(paid.top_up_id)).toEqual([{ nano: '27105000000' }]);
  expect(await listCharges(payer)).toEqual([{ amount: 3_075, paid: true }]);
  expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();
  expect(await readRule(payer)).toMatchObject({ state: 'on', charged_day_cents: 2_500, open_top_up: null });

  const { body: audit } = await payer.browser.get(`/account/organizations/${payer.organizationId}/audit`);
  const about = audit.lines.filter(({ target }: { target: string }) => target === paid.top_up_id);
  expect(about.map(({ action, actor }: { action: string; actor: string }) => [action, actor])).toEqual([
    ['top_up.paid', 'system'],
    ['top_up.started', 'system'],
  ]);
});

it('charges nothing while the billing details change, and charges as soon as the tax is known', async () => {
  const payer = aPayer();
  await account.db.execute(sql`
    UPDATE billing_account SET changing_until = now() + interval '3 seconds' WHERE organization_id = ${payer.organizationId}`);
  await switchOn(payer, { threshold: 100_000_000_000n });
  const { top_up_id: id } = await untilAutomatic(payer, 'invoiced');
  // The look that starts it has begun earlier. Its transaction, which the audit is dated by, finds that the change is over.
  const [row] = await account.db.query(sql<{ waited: boolean }>`
    SELECT at >= changing_until - interval '1 millisecond' AS waited FROM audit JOIN billing_account USING (organization_id)
    WHERE action = 'top_up.started' AND target = ${id}`);
  expect(row).toEqual({ waited: true });
});

it('charges nothing while a VAT id waits for its verdict, not even what was started before', async () => {
  const payer = aPayer();
  await payments.order('POST', 'faults/api', [{ fault: 'refuse_503', match: { of: 'POST /v1/invoices' } }] as never);
  await switchOn(payer, { threshold: 100_000_000_000n });
  const { top_up_id: id } = await untilAutomatic(payer, 'created');
  await payments.order('POST', 'config', { taxIdDelayMs: 3_000 });
  const { status } = await payer.browser.send('PUT', `/account/organizations/${payer.organizationId}/billing-details`, {
    ...{ name: 'Acme GmbH', line1: 'Musterweg 1', line2: null, postal_code: '10115', city: 'Berlin', state: null },
    ...{ country: 'DE', vat_id: 'DE123456789' },
  });
  expect(status).toBe(200);
  await payments.order('DELETE', 'faults');
  await settle(id).catch(() => undefined);
  await payments.order('POST', 'config', { taxIdDelayMs: 200 });
  expect(await untilAutomatic(payer, 'invoiced')).toMatchObject({ top_up_id: id, tax_cents: 475 });
});

it('counts the credit that the operator gives and takes', async () => {
  const { workspaceId, ...payer } = aPayer();
  const adjust = (creditId: string, amountNanoUsd: bigint) =>
    adjustCredit(account.db, { workspaceId, creditId, amountNanoUsd, note: '', by: 'operator:alice' }, BY);
  const given = await Promise.all([1, 2, 3].map(() => adjust('gift', 100_000_000_000n)));
  expect(given.filter(Boolean)).toHaveLength(1);
  await expect(adjust('gift', 1n)).rejects.toMatchObject({ fault: { kind: 'credit_conflict' } });
  await switchOn({ workspaceId, ...payer }, { threshold: 100_000_000_000n });
  expect(await account.balanceWatch.look(workspaceId)).toBeUndefined();
  await adjust('slip', -11_000_000_000n);
  expect(await account.balanceWatch.look(workspaceId)).toMatch(/^topup_/);
});

it('starts one automatic top-up, however many looks and reports come at once', async () => {
  const payer = aPayer();
  await switchOn(payer);
  await report(payer, CREDIT);
  const looks = await Promise.all(
    Array.from({ length: 100 }, () => account.balanceWatch.look(payer.workspaceId).catch(() => undefined)),
  );
  await Promise.all(Array.from({ length: 5 }, () => report(payer, CREDIT)));
  expect(looks.filter((id) => id !== undefined).length).toBeLessThanOrEqual(1);
  const paid = await untilAutomatic(payer, 'invoiced');
  await Promise.all(Array.from({ length: 8 }, () => settle(paid.top_up_id)));
  expect(await listAutomatic(payer)).toHaveLength(1);
  expect(await listCharges(payer)).toEqual([{ amount: 3_075, paid: true }]);
  expect(await readCredits(paid.top_up_id)).toHaveLength(1);
});

it('has the database refuse a second automatic top-up that is open', async () => {
  const payer = aPayer();
  await payments.order('POST', 'faults/api', [{ fault: 'refuse_503' }] as never);
  await switchOnWithoutProcessor(payer);
  const id = await until('a start', () => account.balanceWatch.look(payer.workspaceId));
  const copy = account.db.execute(sql`
    INSERT INTO top_up (top_up_id, workspace_id, kind, mandate_id, currency, net_cents, started_by, session_ends_at)
    SELECT 'topup_second', workspace_id, kind, mandate_id, currency, net_cents, started_by, session_ends_at
    FROM top_up WHERE top_up_id = ${id}`);
  await expect(copy).rejects.toMatchObject({ constraint: 'open_automatic_top_up' });
});

/** Switches the automatic top-up on in the database, while the processor is away, for a balance that is used up. */
async function switchOnWithoutProcessor({ workspaceId, browser }: Payer): Promise<void> {
  const mandateId = `mandate_${randomUUID()}`;
  await account.db.execute(sql`
    INSERT INTO top_up_mandate (mandate_id, workspace_id, currency, threshold_nano_usd, net_cents, day_limit_cents, month_limit_cents,
      card_id, card_brand, card_last4, card_expires, confirmed_text, confirmed_by)
    VALUES (${mandateId}, ${workspaceId}, 'eur', 100000000000, 2500, 10000, 50000, 'pm_none', 'visa', '4242', '2034-12', 'yes', ${browser.userId})`);
  await account.db.execute(sql`
    INSERT INTO top_up_rule (workspace_id, mandate_id) VALUES (${workspaceId}, ${mandateId})`);
}

it('pauses after each decline, longer each time, and is off after the fourth within 7 days, with a mail each', async () => {
  const payer = aPayer('isDeclinedLater');
  await switchOn(payer);
  await report(payer, CREDIT);
  for (const [index, pausedHours] of [1, 2, 4].entries()) {
    await until('a decline', async () => (await listAutomatic(payer)).length === index + 1);
    await until('its end', async () => (await listAutomatic(payer)).every(({ state }) => state === 'declined'));
    expect(await readRule(payer)).toMatchObject({ state: 'paused', pause_reason: 'decline' });
    await untilMails(payer, 'An automatic top-up of EUR 25.00 was declined', index + 1);
    await ageDeclines(payer, pausedHours - 1);
    expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();
    await ageDeclines(payer, 1);
    expect(await account.balanceWatch.look(payer.workspaceId)).toMatch(/^topup_/);
  }
  await until('the switch', async () => (await readRule(payer)).state === 'off');
  expect(await readRule(payer)).toMatchObject({ off_reason: 'declines', open_top_up: null });
  await untilMails(payer, 'Automatic top-ups are switched off', 1);
  await ageDeclines(payer, 24);
  expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();
  expect(await account.balanceWatch.sweep()).toBe(0);
  const topUps = await listAutomatic(payer);
  expect(topUps.map(({ state }) => state)).toEqual(Array(4).fill('declined'));
  expect((await listCharges(payer)).filter(({ paid }) => paid)).toEqual([]);
  for (const { top_up_id: id } of topUps) expect(await readCredits(id)).toEqual([]);
  expect(countMails(payer, 'An automatic top-up of EUR 25.00 was declined')).toBe(3);

  // Confirmed anew, it begins without the old declines.
  expect((await switchOn(payer)).body).toMatchObject({ off_reason: null });
  await until('a fifth decline', async () => (await listAutomatic(payer)).length === 5);
});

it('goes on after a decline once another payment was made', async () => {
  const payer = aPayer('isDeclinedLater');
  await switchOn(payer, { threshold: 100_000_000_000n });
  await until('a decline', async () => (await readRule(payer)).state === 'paused');
  // A charge has whole seconds.
  await account.db.execute(sql`
    UPDATE top_up SET failed_at = failed_at - interval '2 seconds' WHERE workspace_id = ${payer.workspaceId}`);
  const { body } = await payer.browser.post(`${payer.path}/top-ups`, { net_cents: 500 });
  await payAt(body.checkout_url, { address: DUBLIN });
  await until('the payment', async () => (await listTopUps(payer))[0]?.state === 'invoiced');
  expect(await account.balanceWatch.look(payer.workspaceId)).toMatch(/^topup_/);
});

it('mails a link where the bank wants the cardholder, starts no other, and is paid once by the person', async () => {
  const payer = aPayer('asksAlways');
  await switchOn(payer);
  await report(payer, CREDIT);
  const { top_up_id: id } = await untilAutomatic(payer, 'wants_cardholder');
  await untilMails(payer, 'Your bank wants to ask you about EUR 25.00', 1);
  const mail = account.mails.findLast(({ to }) => to === payer.address);
  expect(mail?.text.replaceAll(/=\r?\n/g, '')).toContain(`/workspaces/${payer.workspaceId}/billing?top_up=3D${id}`);
  expect(await readRule(payer)).toMatchObject({ state: 'wants_cardholder', open_top_up: { top_up_id: id } });
  expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();
  expect(await settle(id)).toBe('wants_cardholder');
  expect(await readCredits(id)).toEqual([]);

  const { body } = await payer.browser.post(`${payer.path}/top-ups/${id}/checkout`);
  const refused = await payAt(body.checkout_url, { card: 'asksAlways', bank: 'refuse' });
  expect(refused).toMatchObject({ status: 402 });
  expect(await settle(id)).toBe('wants_cardholder');
  await payAt(body.checkout_url, { card: 'asksAlways' });
  await untilAutomatic(payer, 'invoiced');
  expect(await readCredits(id)).toHaveLength(1);
  expect((await listCharges(payer)).filter(({ paid }) => paid)).toEqual([{ amount: 3_075, paid: true }]);
  expect((await payer.browser.post(`${payer.path}/top-ups/${id}/checkout`)).body.error).toBe('top_up_is_over');
});

it('counts a cardholder who does not come as a decline, and can no longer be paid', async () => {
  const payer = aPayer('asksAlways');
  await switchOn(payer);
  await report(payer, CREDIT);
  const { top_up_id: id } = await untilAutomatic(payer, 'wants_cardholder');
  const { body } = await payer.browser.post(`${payer.path}/top-ups/${id}/checkout`);
  await account.db.execute(sql`UPDATE top_up SET session_ends_at = now() WHERE top_up_id = ${id}`);
  expect(await settle(id)).toBe('declined');
  expect(await readRule(payer)).toMatchObject({ state: 'paused', pause_reason: 'decline' });
  expect(await payAt(body.checkout_url, { card: 'asksAlways' })).toMatchObject({ status: 400 });
  expect(await settle(id)).toBe('declined');
});

it.each([
  ['day_limit', { day: 2_500 }, 'Automatic top-ups have reached the limit of the day'],
  ['month_limit', { month: 2_500, day: 2_500 }, 'Automatic top-ups have reached the limit of the month'],
] as const)('charges no more than the %s, and says so by one mail', async (reason, terms, subject) => {
  const payer = aPayer();
  await switchOn(payer, { ...terms, threshold: 100_000_000_000n });
  await untilAutomatic(payer, 'invoiced');
  for (let time = 0; time < 3; time += 1) expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();
  const { state, pause_reason: why, paused_until: until_ } = await readRule(payer);
  expect([state, why]).toEqual(['paused', reason]);
  expect(new Date(until_) > new Date()).toBe(true);
  await untilMails(payer, subject, 1);
  expect(await listAutomatic(payer)).toHaveLength(1);
});

it('charges no more in a month than the operator allows the account, and goes on when the limit is raised', async () => {
  const payer = aPayer();
  const { organizationId } = payer;
  const setLimit = (monthLimitCents: number | null) =>
    setAccountLimit(account.db, { organizationId, monthLimitCents, by: 'operator:alice' }, BY);
  expect(await setLimit(2_499)).toEqual({
    ...{ organization_id: organizationId, month_limit_cents: 2_499, was_cents: 500_000 },
  });
  await switchOn(payer, { threshold: 100_000_000_000n });
  await untilMails(payer, 'Automatic top-ups have reached the monthly limit of the account', 1);
  expect(await readRule(payer)).toMatchObject({ pause_reason: 'account_limit', account_month_limit_cents: 2_499 });
  expect(await listAutomatic(payer)).toEqual([]);
  expect(await setLimit(null)).toMatchObject({ month_limit_cents: 500_000, was_cents: 2_499 });
  await account.balanceWatch.look(payer.workspaceId);
  await untilAutomatic(payer, 'invoiced');
  const { body: audit } = await payer.browser.get(`/account/organizations/${organizationId}/audit`);
  const lines = audit.lines.filter(({ action }: { action: string }) => action === 'automatic_top_up.limit_set');
  expect(lines).toEqual([
    expect.objectContaining({ actor: 'operator', before: { month_limit_cents: 2_499 } }),
    expect.objectContaining({ actor: 'operator', after: { month_limit_cents: 2_499 } }),
  ]);
});

it('charges nothing while the organization is on hold, not even what was started before', async () => {
  const payer = aPayer();
  const { organizationId } = payer;
  await payments.order('POST', 'faults/api', [
    { fault: 'refuse_503', match: { of: 'POST /v1/invoices/{id}/pay' } },
  ] as never);
  await switchOn(payer, { threshold: 100_000_000_000n });
  const { top_up_id: id } = await untilAutomatic(payer, 'created');
  await expect(settle(id)).rejects.toMatchObject({ statusCode: 503 });
  const { hold_id: holdId } = await openHold(
    account.db,
    { organizationId, reason: 'fraud_review', note: '', by: 'operator:alice' },
    BY,
  );
  // A settler that began before the hold may ask for the charge once more.
  await until('the end of settlers that began before the hold', async () => {
    const active = await account.db.query(sql`
      SELECT 1 AS one FROM pgboss.job WHERE name = 'top_up_follow' AND state = 'active' AND data->>'top_up_id' = ${id}`);
    return active.length === 0;
  });
  await payments.order('DELETE', 'faults');
  expect(await settle(id)).toBe('expired');
  expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();
  expect(await readRule(payer)).toMatchObject({ state: 'on_hold', open_top_up: null });
  expect((await switchOn(payer)).body.error).toBe('organization_on_hold');
  expect(await listCharges(payer)).toEqual([]);
  await endHold(account.db, { holdId, by: 'operator:alice' }, BY);
  expect(await account.balanceWatch.look(payer.workspaceId)).toMatch(/^topup_/);
});

/** Starts an automatic top-up whose job is gone before the processor made anything for it. Returns its id. */
async function startWithoutJob(payer: Payer): Promise<string> {
  await payments.order('POST', 'faults/webhooks', [{ fault: 'lose' }] as never);
  await payments.order('POST', 'faults/api', [{ fault: 'refuse_503', match: { of: 'POST /v1/invoices' } }] as never);
  await switchOn(payer, { threshold: 20_000_000_000n });
  const { top_up_id: id } = await until('a start', async () => (await listAutomatic(payer))[0]);
  await removeJob(id);
  await payments.order('DELETE', 'faults');
  await payments.order('POST', 'faults/webhooks', [{ fault: 'lose' }] as never);
  return id;
}
const hold = ({ organizationId }: Payer) =>
  openHold(account.db, { organizationId, reason: 'fraud_review', note: '', by: 'operator:alice' }, BY);
/** Settles a top-up by a settler that runs `meanwhile` around one of its calls about invoices. */
function settleWith(id: string, name: 'create' | 'pay', meanwhile: (call: () => Promise<unknown>) => Promise<unknown>) {
  const stripe = (account.payments as Payments).stripe;
  const invoices = new Proxy(stripe.invoices, {
    get: (target, asked) =>
      asked === name
        ? (...args: never[]) => meanwhile(() => (target[name] as (...args: never[]) => Promise<unknown>)(...args))
        : Reflect.get(target, asked),
  });
  const slow = new Proxy(stripe, {
    get: (target, asked) => (asked === 'invoices' ? invoices : Reflect.get(target, asked)),
  });
  return settleTopUp({ ...account, payments: { ...(account.payments as Payments), stripe: slow } }, id);
}

it('charges nothing where another settler ends the top-up while the invoice is made', async () => {
  const payer = aPayer();
  const id = await startWithoutJob(payer);
  const settled = await settleWith(id, 'create', async (call) => {
    const draft = await call();
    await hold(payer);
    expect(await settle(id)).toBe('expired');
    return draft;
  });
  expect(settled).toBe('expired');
  expect(await listCharges(payer)).toEqual([]);
});

it('credits a charge that is under way while a settler that saw a hold comes to its end', async () => {
  const payer = aPayer();
  const id = await startWithoutJob(payer);
  const { hold_id: holdId } = await hold(payer);
  const paying: Promise<unknown>[] = [];
  // Sees the hold and no invoice, and writes that only once another settler pays the invoice.
  const late = new Proxy(account.db, {
    get(target, asked) {
      if (asked !== '$transaction') return Reflect.get(target, asked);
      return async (work: Parameters<typeof target.$transaction>[0]) => {
        await endHold(account.db, { holdId, by: 'operator:alice' }, BY);
        return new Promise((resolve, reject) => {
          const toPay = async (call: () => Promise<unknown>) => {
            await target.$transaction(work).then(resolve, reject);
            return call();
          };
          paying.push(settleWith(id, 'pay', toPay));
        });
      };
    },
  });
  expect(await settle(id, late)).toBe('created');
  expect(await Promise.all(paying)).toEqual(['invoiced']);
  expect(await listCharges(payer)).toEqual([{ amount: 3_075, paid: true }]);
  expect(await readCredits(id)).toHaveLength(1);
});

it('stays on with a new card where the card of a top-up under way is gone', async () => {
  const payer = aPayer();
  const id = await startWithoutJob(payer);
  const { workspaceId } = payer;
  const [mandate] = await account.db.query(sql<{ card: string }>`
    SELECT card_id AS card FROM top_up_mandate WHERE workspace_id = ${workspaceId}`);
  await account.payments?.stripe.paymentMethods.detach(mandate?.card ?? '');
  // The same as the confirmation of another card.
  await account.db.execute(sql`
    INSERT INTO top_up_mandate SELECT (jsonb_populate_record(mandate, '{"mandate_id": "mandate_2", "card_id": "pm_2"}')).*
    FROM top_up_mandate AS mandate WHERE workspace_id = ${workspaceId}`);
  await account.db.execute(sql`
    UPDATE top_up_rule SET mandate_id = 'mandate_2' WHERE workspace_id = ${workspaceId}`);
  expect(await settle(id)).toBe('declined');
  expect(await readRule(payer)).toMatchObject({ off_reason: null });
});

it.each([
  'POST /v1/invoices',
  'POST /v1/invoiceitems',
  'POST /v1/invoices/{id}/finalize',
  'POST /v1/invoices/{id}/pay',
])('charges once where every answer to %s is lost', async (of) => {
  const payer = aPayer();
  await payments.order('POST', 'faults/webhooks', [{ fault: 'lose' }] as never);
  await payments.order('POST', 'faults/api', [{ fault: 'reset_after', match: { of }, times: 6 }] as never);
  await switchOn(payer, { threshold: 20_000_000_000n });
  const { top_up_id: id } = await until('a start', async () => (await listAutomatic(payer))[0]);
  for (let time = 0; time < 3; time += 1) await settle(id).catch(() => undefined);
  expect(await settle(id)).toBe('invoiced');
  expect(await listCharges(payer)).toEqual([{ amount: 3_075, paid: true }]);
  expect(await readCredits(id)).toHaveLength(1);
});

/** Takes the job that charges a top-up away while it does not run, once it has failed. */
const removeJob = (id: string) =>
  until('a failed job', async () => {
    const removed = await account.db.execute(sql`
      DELETE FROM pgboss.job WHERE name = 'top_up_follow' AND state = 'retry' AND data->>'top_up_id' = ${id}`);
    return removed > 0;
  });

it('credits once, whatever statement of the crediting transaction the process crashes at', async () => {
  const payer = aPayer();
  const id = await startWithoutJob(payer);
  let crashes = 0;
  for (let step = 0; (await settle(id, crashingDb(account.db, step)).catch(() => 'crashed')) === 'crashed'; step += 1) {
    crashes += 1;
    expect(await readCredits(id)).toEqual([]);
  }
  expect(crashes).toBeGreaterThan(5);
  expect(await settle(id)).toBe('invoiced');
  expect(await readCredits(id)).toHaveLength(1);
  expect(await listCharges(payer)).toEqual([{ amount: 3_075, paid: true }]);
});

it('is switched off where the card is gone, with a mail', async () => {
  const payer = aPayer();
  const { body } = await payer.browser.get(`/account/organizations/${payer.organizationId}/cards`);
  await switchOn(payer);
  await account.payments?.stripe.paymentMethods.detach(body.cards[0].card_id);
  await report(payer, CREDIT);
  await until('the switch', async () => (await readRule(payer)).off_reason === 'card_gone');
  await untilMails(payer, 'Automatic top-ups are switched off', 1);
  expect(await listCharges(payer)).toEqual([]);
});

it('is switched off by a member, and a payment under way goes on', async () => {
  const payer = aPayer();
  await switchOn(payer);
  const { status, body } = await payer.browser.send('DELETE', `${payer.path}/automatic-top-up`);
  expect([status, body.state, body.off_reason]).toEqual([200, 'off', 'member']);
  await report(payer, CREDIT);
  expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();
  expect(await listAutomatic(payer)).toEqual([]);
});

it('switches on for the confirmed terms and a card of the organization alone', async () => {
  const payer = aPayer();
  const put = (change: object) =>
    payer.browser.send('PUT', `${payer.path}/automatic-top-up`, {
      ...{ card_id: 'pm_none', threshold_nano_usd: '5000000000', net_cents: 2_500 },
      ...{ day_limit_cents: 10_000, month_limit_cents: 50_000, confirmed_text: 'yes', ...change },
    });
  const { body } = await payer.browser.get(`/account/organizations/${payer.organizationId}/cards`);
  const { card_id: cardId } = body.cards[0];
  const other = aPayer();
  const { body: others } = await other.browser.get(`/account/organizations/${other.organizationId}/cards`);
  for (const [change, status, error] of [
    [{ net_cents: 499 }, 400, 'amount_out_of_range'],
    [{ net_cents: 500_001 }, 400, 'amount_out_of_range'],
    [{ day_limit_cents: 2_499 }, 400, 'limit_too_low'],
    [{ month_limit_cents: 2_499 }, 400, 'limit_too_low'],
    [{}, 409, 'unknown_card'],
    [{ card_id: others.cards[0].card_id }, 409, 'unknown_card'],
    [{ card_id: cardId }, 400, 'confirmation_differs'],
    [{ confirmed_text: undefined }, 400, 'invalid_request'],
    [{ threshold_nano_usd: '-1' }, 400, 'invalid_request'],
  ] as const) {
    const answer = await put(change);
    expect([change, answer.status, answer.body.error]).toEqual([change, status, error]);
  }
  expect(await readRule(payer)).toMatchObject({ state: 'off', confirmed: null });
});

const cardsPath = ({ organizationId }: Payer) => `/account/organizations/${organizationId}/cards`;
const readCards = async (payer: Payer) => (await payer.browser.get(cardsPath(payer))).body.cards;
const removeCard = (payer: Payer, cardId: string) => payer.browser.send('DELETE', `${cardsPath(payer)}/${cardId}`);

it('removes a saved card, however often payments have saved it, and charges it no more', async () => {
  const [payer, other] = [aPayer(), aPayer()];
  await switchOn(payer);
  await switchOn(other);
  const [saved] = await readCards(payer);
  const [row] = await account.db.query(sql<{ customer: string }>`
    SELECT psp_customer AS customer FROM billing_account WHERE organization_id = ${payer.organizationId}`);
  const { customer = '' } = row ?? {};
  // More than a page of the processor's list.
  for (let times = 0; times < 100; times += 1)
    await account.payments?.stripe.paymentMethods.attach('pm_card_visa', { customer });
  const cards = await readCards(payer);
  expect(cards).toEqual([{ ...saved, card_id: expect.any(String) }]);
  expect(cards).not.toEqual([saved]);
  const [others] = await readCards(other);
  expect((await removeCard(payer, others.card_id)).body.error).toBe('unknown_card');

  expect(await removeCard(payer, cards[0].card_id)).toMatchObject({ status: 200, body: { done: true } });
  expect(await readCards(payer)).toEqual([]);
  expect(await readRule(payer)).toMatchObject({ state: 'off', off_reason: 'card_gone' });
  expect(await removeCard(payer, saved.card_id)).toMatchObject({ status: 409, body: { error: 'unknown_card' } });
  await report(payer, CREDIT);
  expect(await account.balanceWatch.look(payer.workspaceId)).toBeUndefined();

  expect(await readCards(other)).toEqual([others]);
  expect((await readRule(other)).state).toBe('on');
  const { body } = await payer.browser.get(`/account/organizations/${payer.organizationId}/audit`);
  expect(body.lines.slice(0, 2).map(({ action }: { action: string }) => action)).toEqual([
    'card.removed',
    'automatic_top_up.switched_off',
  ]);
});

it('switches off first where the processor is away, and removes the card when it is asked again', async () => {
  const payer = aPayer();
  await switchOn(payer);
  const [card] = await readCards(payer);
  await payments.order('POST', 'faults/api', [
    { fault: 'refuse_503', match: { of: 'POST /v1/payment_methods/{id}/detach' } },
  ] as never);
  expect(await removeCard(payer, card.card_id)).toMatchObject({ status: 502, body: { error: 'payments_away' } });
  expect(await readRule(payer)).toMatchObject({ state: 'off', off_reason: 'card_gone' });
  await payments.order('DELETE', 'faults');
  expect((await removeCard(payer, card.card_id)).status).toBe(200);
  expect(await readCards(payer)).toEqual([]);
});

// The last test, because the clock of the processor goes forward alone.
it('counts a charge in the month in which the card is charged', async () => {
  const payer = aPayer();
  const now = new Date();
  // The month may have ended since this file began. The rate of this month is also used in the next.
  await importRate();
  const monthEnd = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
  await report(payer, CREDIT);
  await payments.order('POST', 'faults/api', [{ fault: 'refuse_503', match: { of: 'POST /v1/invoices' } }] as never);
  await switchOn(payer, { month: 2_500, day: 2_500, threshold: 100_000_000_000n });
  const { top_up_id: id } = await untilAutomatic(payer, 'created');
  await payments.order('POST', 'advance', { ms: monthEnd.getTime() - now.getTime() + 3_600_000 });
  await payments.order('DELETE', 'faults');
  await until('the charge', async () => (await settle(id)) === 'invoiced');
  expect(await account.balanceWatch.look(payer.workspaceId, new Date(monthEnd.getTime() + 7_200_000))).toBeUndefined();
  expect(await listAutomatic(payer)).toHaveLength(1);
});
