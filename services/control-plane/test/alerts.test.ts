import { createHmac, randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from '@turnpike/postgres/sql';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { until } from '@turnpike/test-support/until';
import { putDayTotals } from '../src/day-totals/dayTotals.ts';
import { post, type Transfer, walletOf } from '../src/ledger/post.ts';
import { type Browser, startAccount, type TestAccount } from './startAccount.ts';

const EPOCH = randomUUID();
const TODAY = new Date().toISOString().slice(0, 10);
const USD = 1_000_000_000n;

/** The server of a customer, which takes webhooks. */
let receiver: Awaited<ReturnType<typeof serveHttp>>;
const received: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
/** The statuses of the next answers, by path; 204 where there are none. */
const answers = new Map<string, number[]>();
let account: TestAccount;
beforeAll(async () => {
  receiver = await serveHttp(async (req, res) => {
    const path = req.url ?? '';
    received.push({ path, headers: req.headers, body: await text(req) });
    res.writeHead(answers.get(path)?.shift() ?? 204, { location: '/redirected' }).end();
  });
  account = await startAccount({
    webhookPrivateHosts: new Set([new URL(receiver.url).host]),
    resolveWebhookHost: async (name) => (name === 'inside.example' ? ['93.184.215.14', '10.0.0.7'] : []),
  });
});
afterAll(async () => {
  await account.stop();
  await receiver.close();
});

interface Owner {
  browser: Browser & { userId: string };
  address: string;
  organizationId: string;
  workspaceId: string;
  path: string;
}

/** An owner of a workspace with a credit of $5, in dollars. */
async function anOwner(): Promise<Owner> {
  const address = `${randomUUID()}@example.com`;
  const browser = await account.signIn(address);
  const { body } = await browser.post('/account/organizations', { name: 'Acme' });
  const organizationId = body.organization_id;
  const workspaces = `/account/organizations/${organizationId}/workspaces`;
  const workspaceId = (await browser.post(workspaces, { region: 'us', name: 'Acme' })).body.workspace_id;
  return { browser, address, organizationId, workspaceId, path: `${workspaces}/${workspaceId}` };
}

const setAlerts = ({ browser, path }: Owner, { budget, below, isMailed = true }: Terms) =>
  browser.send('PUT', `${path}/alerts`, {
    budget_nano_usd: budget === undefined ? null : String(budget),
    balance_below_nano_usd: below === undefined ? null : String(below),
    is_mailed: isMailed,
  });
interface Terms {
  budget?: bigint;
  below?: bigint;
  isMailed?: boolean;
}
const setWebhook = ({ browser, path }: Owner, url: string) => browser.send('PUT', `${path}/alerts/webhook`, { url });

let lastSeq = 0;
/** The region reports what the workspace spent today. */
function report({ workspaceId }: Owner, nanoUsd: bigint, day = TODAY) {
  lastSeq += 1;
  return putDayTotals(account, 'us', {
    epoch: EPOCH,
    totals: [{ workspace_id: workspaceId, day, spend_nano_usd: nanoUsd, requests: 1, seq: lastSeq }],
  });
}

interface Alert {
  alert_id: string;
  kind: string;
  percent: number | null;
  month: string | null;
  limit_nano_usd: string;
  value_nano_usd: string;
  delivery: { state: string; attempts: number; last_status: number | null; last_error: string | null } | null;
}
const listAlerts = async ({ browser, path }: Owner): Promise<Alert[]> =>
  (await browser.get(`${path}/alerts/raised`)).body.alerts;
/** The raised alerts as `budget 50`, the oldest first, once there are so many. */
const untilRaised = (owner: Owner, count: number): Promise<string[]> =>
  until(`${count} alerts`, async () => {
    const alerts = await listAlerts(owner);
    return alerts.length >= count && alerts.map(({ kind, percent }) => `${kind} ${percent}`).toReversed();
  });
/** Waits until no look at a balance is left to do. */
const untilLooked = () =>
  until('the end of all looks', async () => {
    const jobs = await account.db.query(
      sql`SELECT 1 AS one FROM pgboss.job WHERE name = 'balance' AND state < 'completed'`,
    );
    return jobs.length === 0;
  });
const readMails = ({ address }: Owner): string[] =>
  account.mails.flatMap(({ to, text: mail }) => {
    const [, subject = ''] = /^Subject: (.*)$/m.exec(mail) ?? [];
    return to === address && subject.startsWith('Acme: ') ? [subject.trim()] : [];
  });

it('alerts at 50, 80 and 100 % of the budget and of the cap, each once in a month, by mail', async () => {
  const owner = await anOwner();
  expect((await owner.browser.get(`${owner.path}/alerts`)).body).toEqual({
    ...{ budget_nano_usd: null, balance_below_nano_usd: null, is_mailed: false, webhook: null },
  });
  expect((await setAlerts(owner, { budget: 2n * USD })).body).toMatchObject({
    budget_nano_usd: '2000000000',
    is_mailed: true,
  });
  await report(owner, USD - 1n);
  await untilLooked();
  expect(await listAlerts(owner)).toEqual([]);
  await Promise.all(Array.from({ length: 5 }, () => report(owner, USD)));
  expect(await untilRaised(owner, 1)).toEqual(['budget 50']);
  await report(owner, (2n * USD * 79n) / 100n);
  await untilLooked();
  expect(await untilRaised(owner, 1)).toEqual(['budget 50']);
  await report(owner, 3n * USD);
  expect(await untilRaised(owner, 3)).toEqual(['budget 50', 'budget 80', 'budget 100']);

  // The cap is set later, and its thresholds are reached already.
  await owner.browser.send('PATCH', owner.path, { monthly_cap_nano_usd: String(4n * USD) });
  expect((await untilRaised(owner, 4)).slice(3)).toEqual(['cap 50']);
  await report(owner, 4n * USD);
  expect((await untilRaised(owner, 6)).slice(4)).toEqual(['cap 80', 'cap 100']);
  await report(owner, 5n * USD);
  await untilLooked();
  expect(await listAlerts(owner)).toHaveLength(6);
  await until('the mails', () => readMails(owner).length === 6);
  expect(readMails(owner).toSorted()).toEqual(
    [
      ...[50, 80, 100].map((percent) => `Acme: ${percent} % of the budget of USD 2.00 is spent`),
      ...[50, 80, 100].map((percent) => `Acme: ${percent} % of the monthly cap of USD 4.00 is spent`),
    ].toSorted(),
  );
});

it('alerts about spend of a month that is reported after its end, and about no other spend of that month', async () => {
  const owner = await anOwner();
  const lastDay = new Date(new Date().setUTCDate(0)).toISOString().slice(0, 10);
  await setAlerts(owner, { budget: 2n * USD });
  await report(owner, USD, lastDay);
  await report(owner, USD);
  expect((await untilRaised(owner, 2)).toSorted()).toEqual(['budget 50', 'budget 50']);
  const months = (await listAlerts(owner)).map(({ month }) => month);
  expect(months.toSorted()).toEqual([lastDay.slice(0, 7), TODAY.slice(0, 7)]);
  await until('the mails', () => readMails(owner).length === 2);
  expect(readMails(owner)).toContain(`Acme: 50 % of the budget of USD 2.00 for ${lastDay.slice(0, 7)} is spent`);

  // A budget that is set later is of this month alone.
  await account.db.execute(sql`
    UPDATE day_total SET reported_at = now() - interval '11 minutes' WHERE workspace_id = ${owner.workspaceId}`);
  await account.db.execute(
    sql`UPDATE region_epoch SET confirmed_at = now() - interval '11 minutes' WHERE region = 'us'`,
  );
  await setAlerts(owner, { budget: USD });
  await untilLooked();
  expect((await listAlerts(owner)).filter(({ month }) => month === lastDay.slice(0, 7))).toHaveLength(1);
});

/** Moves a dollar. */
const move = (transfer: Pick<Transfer, 'debit' | 'credit' | 'code'>) =>
  account.db.$transaction((tx) =>
    post(tx, 'a test', [{ id: randomUUID(), unit: 'nano_usd', amount: USD, ...transfer }]),
  );

it('alerts below a balance anew after a credit that makes up for what was taken back', async () => {
  const owner = await anOwner();
  const wallet = walletOf(owner.workspaceId);
  await setAlerts(owner, { below: 2n * USD });
  await report(owner, 4n * USD);
  await untilRaised(owner, 1);
  await move({ debit: wallet, credit: 'fx_bridge', code: 'taken_back' });
  await report(owner, 4n * USD + 1n);
  await untilLooked();
  expect(await listAlerts(owner)).toHaveLength(1);
  await move({ debit: 'promo_given', credit: wallet, code: 'welcome' });
  await report(owner, 4n * USD + 2n);
  expect(await untilRaised(owner, 2)).toEqual(['balance null', 'balance null']);
});

it('alerts below a balance once until the next credit, and not at the balance', async () => {
  const owner = await anOwner();
  const { workspaceId } = owner;
  await setAlerts(owner, { below: 2n * USD });
  await report(owner, 3n * USD);
  await untilLooked();
  expect(await listAlerts(owner)).toEqual([]);
  await report(owner, 3n * USD + 1n);
  expect(await untilRaised(owner, 1)).toEqual(['balance null']);
  expect((await listAlerts(owner))[0]).toMatchObject({ limit_nano_usd: '2000000000', value_nano_usd: '1999999999' });
  await report(owner, 4n * USD);
  await untilLooked();
  expect(await listAlerts(owner)).toHaveLength(1);
  await move({ debit: 'promo_given', credit: walletOf(workspaceId), code: 'welcome' });
  await report(owner, 4n * USD + 1n);
  expect(await untilRaised(owner, 2)).toEqual(['balance null', 'balance null']);
});

it('raises no alert of a workspace that has none set, and mails none where mails are off', async () => {
  const owner = await anOwner();
  await report(owner, 5n * USD);
  await untilLooked();
  expect(await listAlerts(owner)).toEqual([]);
  await setAlerts(owner, { budget: USD, isMailed: false });
  await untilRaised(owner, 3);
  expect(readMails(owner)).toEqual([]);
});

/** The path of a webhook of this test alone. */
const aPath = () => `/hooks/${randomUUID()}`;
const sentTo = (path: string) => received.filter((request) => request.path === path);
const hasten = () =>
  account.db.execute(sql`
  UPDATE pgboss.job SET start_after = now() WHERE name = 'alert_webhook' AND state = 'retry'`);
const untilDelivery = (owner: Owner, state: string) =>
  until(`a delivery that is ${state}`, async () => {
    await hasten();
    const [alert] = await listAlerts(owner);
    return alert?.delivery?.state === state && alert;
  });
const untilAttempted = (owner: Owner, times: number) =>
  until(`attempt ${times}`, async () => {
    await hasten();
    const [alert] = await listAlerts(owner);
    return (alert?.delivery?.attempts ?? 0) >= times && alert;
  });

it('posts a signed webhook, and again under its id until it is taken', async () => {
  const owner = await anOwner();
  const path = aPath();
  answers.set(path, [500, 307]);
  const { status, body } = await setWebhook(owner, receiver.url + path);
  expect([status, body.webhook.url]).toEqual([200, receiver.url + path]);
  expect((await owner.browser.get(`${owner.path}/alerts`)).body).not.toHaveProperty('secret');
  await setAlerts(owner, { below: 9n * USD });
  const alert = await untilDelivery(owner, 'delivered');
  expect(alert.delivery).toMatchObject({ attempts: 3, last_status: 204, last_error: null });
  const requests = sentTo(path);
  expect(requests).toHaveLength(3);
  expect(sentTo('/redirected')).toEqual([]);
  expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  for (const { headers, body: sent } of requests) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${sent}`;
    const key = Buffer.from(body.secret.replace('whsec_', ''), 'base64');
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  }
  expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
    type: 'alert.raised',
    timestamp: expect.any(String),
    data: {
      ...{ alert_id: alert.alert_id, organization_id: owner.organizationId, workspace_id: owner.workspaceId },
      ...{ region: 'us', kind: 'balance', percent: null, month: null },
      ...{ limit_nano_usd: '9000000000', value_nano_usd: '5000000000' },
    },
  });
});

it('gives a webhook up after twelve attempts, and one whose address was removed', async () => {
  const owner = await anOwner();
  const path = aPath();
  answers.set(path, Array(20).fill(503));
  await setWebhook(owner, receiver.url + path);
  await setAlerts(owner, { below: 9n * USD });
  for (let times = 1; times < 12; times += 1) await untilAttempted(owner, times);
  const alert = await untilDelivery(owner, 'given_up');
  expect(alert.delivery).toMatchObject({ attempts: 12, last_status: 503 });
  expect(sentTo(path)).toHaveLength(12);

  const other = await anOwner();
  const otherPath = aPath();
  answers.set(otherPath, Array(20).fill(503));
  await setWebhook(other, receiver.url + otherPath);
  await setAlerts(other, { below: 9n * USD });
  await until('an attempt', () => sentTo(otherPath).length > 0);
  const { body } = await other.browser.send('DELETE', `${other.path}/alerts/webhook`);
  expect(body.webhook).toBeNull();
  const dropped = await untilDelivery(other, 'given_up');
  expect(dropped.delivery).toMatchObject({ last_error: 'webhook_changed' });
});

it('connects to no host of which an address is private, whatever its name was before', async () => {
  const owner = await anOwner();
  expect((await setWebhook(owner, 'https://inside.example/hook')).status).toBe(200);
  await setAlerts(owner, { below: 9n * USD });
  const { delivery } = await untilAttempted(owner, 1);
  expect(delivery).toMatchObject({ state: 'waiting', last_status: null, last_error: 'address_not_public' });
});

it.each([
  'http://example.com/hook',
  'https://example.com:8443/hook',
  'https://user:secret@example.com/hook',
  'https://127.0.0.1/hook',
  'https://[::1]/hook',
  'https://169.254.169.254/latest',
  'https://0x7f.1/hook',
  'ftp://example.com/hook',
  'no address',
])('refuses %s as the address of a webhook', async (url) => {
  refusedOwner ??= await anOwner();
  const { status, body } = await setWebhook(refusedOwner, url);
  expect([status, body.error]).toEqual([400, 'webhook_url_refused']);
  expect((await refusedOwner.browser.get(`${refusedOwner.path}/alerts`)).body.webhook).toBeNull();
});
let refusedOwner: Owner | undefined;
