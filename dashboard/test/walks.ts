import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { anUnchargedUsageRecorded, aUsageRecorded } from '../../libs/events/src/aUsageRecorded.ts';
import type { UsageRecorded } from '../../libs/events/src/usageRecorded.ts';
import { aCatalogModel } from '../../libs/internal-api/src/aCatalogModel.ts';
import { sql } from '../../libs/postgres/src/sql.ts';
import { registerAKey } from '../../services/auth/test/builders.ts';
import { anEarModel, anImageModel, aSpeechModel, aVideoModel } from '../../services/media-jobs/test/aMediaModel.ts';
import { aPartition } from '../../services/usage-ledger/test/openTestLedger.ts';
import { type Eyes, setTheme, THEMES } from './eyes.ts';
import { createOrganization, type Dashboard, goTo } from './startDashboard.ts';
import { IN_USE, type OpenWorkspace, type RegionalDashboard } from './startRegion.ts';

const DAY_MS = 86_400_000;
const free = { request: '0', image: '0', web_search: '0', internal_reasoning: '0' };
const LONG = 'Donaudampfschifffahrtsgesellschaftskapitän'.repeat(3);
export const MODELS = [
  aCatalogModel({
    id: 'large-chat',
    name: 'Large Chat',
    aliases: ['grand'],
    inputModalities: ['text', 'image'],
    supportedFeatures: ['tools', 'json_schema', 'reasoning'],
    pricing: { ...free, prompt: '0.0000000155', completion: '0.00000215', input_cache_read: '0.0000000025' },
  }),
  aCatalogModel({
    id: 'small-chat',
    name: 'Small Chat',
    pricing: { ...free, prompt: '0.00000001', completion: '0.00000002', input_cache_read: '0' },
  }),
  aCatalogModel({
    id: 'away-chat',
    name: `مفتاح ${LONG}`,
    pricing: { ...free, prompt: '0', completion: '0.000000001', input_cache_read: '0' },
  }),
  aCatalogModel({
    id: 'small-embed',
    name: 'Small Embed',
    category: 'embeddings',
    outputModalities: ['embeddings'],
    supportedFeatures: [],
    pricing: { ...free, prompt: '0.00000001', completion: '0', input_cache_read: '0' },
  }),
  anImageModel({ name: 'Small Image' }),
  anImageModel({ id: 'unpriced', name: 'Unpriced', media: { unitPrice: null } }),
  aVideoModel({ name: 'Small Video' }),
  aSpeechModel({ name: 'Small Voice' }),
  anEarModel({ name: 'Small Ear' }),
];
const READY = { engines: 1, healthy: 1 };
export const LIVE = {
  ...Object.fromEntries(MODELS.map(({ id }) => [id, READY])),
  'away-chat': { engines: 1, healthy: 0 },
};
export const NAMES = ['=HYPERLINK("https://evil.example")', 'مفتاح الإنتاج الجديد', `key ${'very-'.repeat(30)}long`];

const aCostlyCall = (fields: Partial<UsageRecorded>, nano: bigint) =>
  aUsageRecorded({ ...fields, chargeNanoUsd: nano, formulaNanoUsd: nano, holdNanoUsd: nano });

/** Signs in as people do: the address on the page, then the link of the mail. */
export async function signIn({ account }: Dashboard, page: Page, address: string): Promise<void> {
  const before = account.mails.length;
  await page.goto('/sign-in');
  await page.getByLabel('E-mail address').fill(address);
  await page.getByRole('button', { name: 'Mail me a link' }).click();
  await page.getByText('a link is on its way').waitFor();
  await page.goto(`/sign-in#${await account.readToken(address, before)}`);
  await page.getByRole('button', { name: 'Sign in now' }).click();
  await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
}

/** Lets the user's last proof be older than what a change asks for. */
export async function ageProofs({ account }: Dashboard, address: string): Promise<void> {
  const { userId } = await account.db.email.findUniqueOrThrow({ where: { address } });
  await account.db.session.updateMany({ where: { userId }, data: { provedAt: new Date(Date.now() - 3_600_000) } });
}

export async function invite(page: Page, address: string, role = 'Developer'): Promise<void> {
  await page.getByRole('button', { name: 'Invite a member' }).first().click();
  await page.getByLabel('E-mail address').fill(address);
  await page.getByRole('radio', { name: role }).check();
  await page.getByRole('button', { name: 'Send the invitation' }).click();
}

/** Walks over the pages of an account and its organization. */
export async function walkAccount(dashboard: Dashboard, eyes: Eyes): Promise<void> {
  const page = await (await dashboard.openContext()).newPage();
  await eyes.look(page, '/sign-in', 'sign-in');
  await eyes.look(page, '/sign-in?error=another_user', 'sign-in-error');
  await eyes.look(page, `/sign-in#${'x'.repeat(43)}`, 'sign-in-link');
  await eyes.look(page, `/step-up#${'x'.repeat(43)}`, 'step-up');
  await eyes.look(page, '/help/refused-calls', 'refused-calls');
  await eyes.look(page, `/invitation#${'x'.repeat(43)}`, 'invitation');
  await signIn(dashboard, page, 'looks@example.com');
  await eyes.look(page, '/organizations', 'organizations-empty');
  const name = 'שלום עולם: ein sehr langer Name, damit er umgebrochen wird, Donaudampfschifffahrtsgesellschaftskapitän';
  const organizationId = await createOrganization(page, name);
  await page.goto(`/organizations/${organizationId}/members`);
  await invite(page, 'guest@example.com', 'Billing viewer');
  await page.getByRole('cell', { name: 'guest@example.com', exact: true }).waitFor();
  await page.goto(`/organizations/${organizationId}/workspaces`);
  await page.getByRole('button', { name: 'Create workspace in United States' }).click();
  await page.getByLabel('Name').fill('Production');
  await eyes.check(page, 'workspace-dialog');
  await page.getByRole('button', { name: 'Create for good' }).click();
  await page.getByRole('main').getByText('Production').waitFor();
  await page.getByRole('button', { name: 'Change workspace in United States' }).click();
  await page.getByLabel('Monthly cap in dollars').fill('ten');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('must be an amount in dollars').waitFor();
  await eyes.check(page, 'workspace-change-dialog');
  await page.getByLabel('Monthly cap in dollars').fill('12.50');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('At most $12.50 a month.').waitFor();
  await eyes.look(page, '/organizations', 'organizations');
  await eyes.look(page, `/organizations/${organizationId}/workspaces`, 'workspaces');
  await eyes.look(page, `/organizations/${organizationId}/audit`, 'audit');
  await page.getByRole('cell', { name: 'monthly cap: none → $12.50', exact: true }).waitFor();
  await eyes.look(page, '/sessions', 'sessions');
  await eyes.look(page, `/organizations/${organizationId}/members`, 'members');
  await page.getByRole('button', { name: 'Invite a member' }).click();
  await eyes.check(page, 'invite-dialog');
  await ageProofs(dashboard, 'looks@example.com');
  await page.getByLabel('E-mail address').fill('second@example.com');
  await page.getByRole('button', { name: 'Send the invitation' }).click();
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
  await eyes.check(page, 'step-up-dialog');
  await page.route('**/account/sessions', (route) => route.abort());
  await page.goto('/sessions');
  await page.getByText('Turnpike does not answer').waitFor();
  await eyes.check(page, 'sessions-failed');
  await page.goto('/organizations/org_unknown/members');
  await page.getByText('There is no such organization').waitFor();
  await eyes.check(page, 'organization-unknown');
}

export const AWKWARD =
  'שלום: ein sehr langer Name, Donaudampfschifffahrtsgesellschaftskapitän, damit er umgebrochen wird';

/** Walks over the overview and the keys of a new workspace. Cuts the page off from its region at the end. */
export async function walkKeys(
  { auth, spend }: RegionalDashboard,
  { page, path, workspaceId }: OpenWorkspace,
  eyes: Eyes,
): Promise<void> {
  await eyes.look(page, path, 'overview');
  await eyes.look(page, `${path}/keys`, 'keys-empty');
  const limits = { max_budget_nano_usd: '25000000000', expires_at: '2027-01-01T00:00:00Z' };
  await registerAKey(auth, { workspace_id: workspaceId, name: AWKWARD, ...limits });
  const { keyId } = await registerAKey(auth, { workspace_id: workspaceId, name: 'Server' });
  await auth.callInternal('POST', `/internal/keys/${keyId}/block`);
  await spend({ workspaceId, keyId, nanoUsd: 4_200n });
  await eyes.look(page, `${path}/keys`, 'keys');
  await eyes.look(page, path, 'overview-first-call');
  await goTo(page, 'Keys');
  await page.getByRole('button', { name: /^Revoke Server/ }).click();
  await eyes.check(page, 'key-revoke-dialog');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Budget in dollars').fill('much');
  await page.getByRole('textbox', { name: 'Name' }).fill('Laptop');
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.getByText('must be an amount in dollars').waitFor();
  await eyes.check(page, 'key-create-dialog');
  await page.getByLabel('Budget in dollars').fill('');
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.getByLabel('Secret of the key').waitFor();
  await eyes.check(page, 'key-secret-dialog');
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.route('**/console/**', (route) => route.abort());
  await page.goto(`${path}/keys`);
  await page.getByText('The region does not answer').waitFor();
  await eyes.check(page, 'keys-region-away');
}

/** Walks over one key, the history of keys and the limits of a new workspace. Cuts the page off from its region at the end. */
export async function walkKey(
  { auth, setCredit }: RegionalDashboard,
  { page, path, workspaceId }: OpenWorkspace,
  eyes: Eyes,
): Promise<void> {
  setCredit(IN_USE);
  await eyes.look(page, `${path}/limits`, 'limits-empty');
  await eyes.look(page, `${path}/key-changes`, 'key-changes-empty');
  const key = { workspace_id: workspaceId, name: AWKWARD, max_budget_nano_usd: '1600000000' };
  const { keyId } = await registerAKey(auth, key);
  const { keyId: blockedId } = await registerAKey(auth, { workspace_id: workspaceId, name: 'Server' });
  await auth.callInternal('POST', `/internal/keys/${blockedId}/block`);
  await eyes.look(page, `${path}/limits`, 'limits');
  await eyes.look(page, `${path}/keys/${blockedId}`, 'key-blocked');
  await eyes.look(page, `${path}/keys/${keyId}`, 'key');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Requests a minute').fill('0');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('must be at least 1').waitFor();
  await eyes.check(page, 'key-edit-dialog');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Rotate/ }).click();
  await eyes.check(page, 'key-rotate-dialog');
  await page.getByRole('button', { name: 'Make the new secret' }).click();
  await page.getByLabel('Secret of the key').waitFor();
  await eyes.check(page, 'key-rotated-dialog');
  await page.getByRole('button', { name: /^I have copied it/ }).click();
  await eyes.look(page, `${path}/keys/${keyId}`, 'key-rotated');
  await eyes.look(page, `${path}/key-changes`, 'key-changes');
  await page.route('**/headroom', (route) => route.abort());
  await page.goto(`${path}/limits`);
  await page.getByText('The use of 2 keys could not be read').waitFor();
  await eyes.check(page, 'limits-without-use');
  await page.route('**/console/**', (route) => route.abort());
  await page.goto(`${path}/keys/${keyId}`);
  await page.getByText('The region does not answer').first().waitFor();
  await eyes.check(page, 'key-region-away');
  await goTo(page, 'Limits');
  await page.getByText('The region does not answer').first().waitFor();
  await eyes.check(page, 'limits-region-away');
}

/** Registers keys with awkward names. Each has a call of today and one of two days ago. Returns their ids. */
export async function recordCalls({ auth, ledger }: RegionalDashboard, workspaceId: string): Promise<string[]> {
  const keyIds: string[] = [];
  for (const name of NAMES) {
    const hash = { key_sha256: `${Date.now()}${keyIds.length}`.padStart(64, 'a'), last_four: `Ab1${keyIds.length}` };
    const { body } = await auth.callInternal('POST', '/internal/keys', {
      ...hash,
      name,
      workspace_id: workspaceId,
    });
    keyIds.push(body.key_id);
  }
  const today = Date.now() - (Date.now() % DAY_MS);
  await aPartition(ledger.db).deliver(
    keyIds.flatMap((keyId, index) => [
      aCostlyCall({ workspaceId, keyId, startedAtMs: today }, 1_234_567_891n + BigInt(index)),
      aUsageRecorded({ workspaceId, keyId, startedAtMs: today - 2 * DAY_MS, canonicalModel: `large-chat-${index}` }),
      anUnchargedUsageRecorded('failure', { workspaceId, keyId, startedAtMs: today - 9 * DAY_MS }),
    ]),
  );
  return keyIds;
}

/** Walks over the usage of a new workspace. */
export async function walkUsage(
  dashboard: RegionalDashboard,
  { page, path, workspaceId }: OpenWorkspace,
  eyes: Eyes,
): Promise<void> {
  await eyes.look(page, `${path}/usage`, 'usage-empty');
  await recordCalls(dashboard, workspaceId);
  await eyes.look(page, `${path}/usage`, 'usage');
  await eyes.look(page, `${path}/usage?split=${encodeURIComponent('key,model')}&range=30d`, 'usage-keys');
  await eyes.look(page, `${path}/usage?range=custom&from=2024-01-01&to=2026-01-01`, 'usage-refused');
  for (const theme of THEMES) {
    await setTheme(page, theme);
    const contrasts = await page.evaluate<number[]>(CONTRASTS);
    expect({ theme, contrasts: contrasts.map((contrast) => contrast >= 3) }).toEqual({
      theme,
      contrasts: Array(9).fill(true),
    });
  }
}

/** 100 × 0.4 + 20 × 0.1 + 80 × 1.0000000005 micro-dollars. */
export const aPricedCall = (workspaceId: string) => {
  const amounts = { chargeNanoUsd: 122_000n, formulaNanoUsd: 122_000n };
  return aUsageRecorded({ workspaceId, keyId: `key_${randomUUID()}`, ...amounts });
};
/** Walks over the look-up of one request. */
export async function walkRequests(
  { ledger }: RegionalDashboard,
  { page, path, workspaceId }: OpenWorkspace,
  eyes: Eyes,
): Promise<void> {
  await eyes.look(page, `${path}/requests`, 'requests');
  await eyes.look(page, `${path}/requests?id=chatcmpl-1`, 'requests-refused');
  const call = aPricedCall(workspaceId);
  await aPartition(ledger.db).deliver([call]);
  await eyes.look(page, `${path}/requests?id=${call.callId}`, 'requests-call');
}

/** Inserts queued jobs of a model, one a second, the first at the begin of a day. */
export async function insertJobs(
  { jobs: { db } }: RegionalDashboard,
  workspaceId: string,
  keyId: string,
  count: number,
  model = 'small-image',
): Promise<void> {
  await db.execute(sql`
    INSERT INTO job (job_id, workspace_id, key_id, operation, modality, model, is_hidden, params, sealed_texts, inputs, digest,
      deadline_at, owner, call_id, hold, hold_nano_usd, price_version, billing_unit, unit_price, units_bound, created_at)
    SELECT 'job_' || left(md5(${workspaceId} || ${model} || n), 22), ${workspaceId}, ${keyId}, 'images.generations', 'image',
      ${model}, false, '{"n": 1}', 'the prompt', '[]', sha256((${model} || n)::BYTEA), now() + INTERVAL '1 hour', 'an-owner',
      gen_random_uuid(), '{}', 1000, 3, 'image', '0.0000005', 2, TIMESTAMPTZ '2026-11-01T00:00Z' + make_interval(secs => n)
    FROM generate_series(1, ${count}::INT) AS n`);
}
/** Ends the jobs of a model 2.5 s after their creation. */
export const endJobs = (
  { jobs: { db } }: RegionalDashboard,
  workspaceId: string,
  model: string,
  state: string,
  errorCode: string | null = null,
) =>
  db.execute(sql`
    UPDATE job SET state = ${state}, error_code = ${errorCode}, units = CASE WHEN ${state} = 'completed' THEN 2 ELSE 0 END,
      charge_nano_usd = CASE WHEN ${state} = 'completed' THEN 1000 ELSE 0 END, event = '{}',
      ended_at = created_at + INTERVAL '2.5 seconds', remove_at = now()
    WHERE workspace_id = ${workspaceId} AND model = ${model}`);

/** Walks over the media jobs of a new workspace. Cuts the page off from its region at the end. */
export async function walkJobs(
  dashboard: RegionalDashboard,
  { page, path, workspaceId }: OpenWorkspace,
  eyes: Eyes,
): Promise<void> {
  dashboard.catalog.show([], {});
  await eyes.look(page, `${path}/jobs`, 'jobs-without-models');
  dashboard.catalog.show([anImageModel()], { 'small-image': READY });
  // A page with a route has no cache.
  await page.route('**/console/models', (route) => route.continue());
  await eyes.look(page, `${path}/jobs`, 'jobs-empty');
  const name = `مفتاح الإنتاج ${'very-'.repeat(30)}long`;
  const { keyId } = await registerAKey(dashboard.auth, { workspace_id: workspaceId, name });
  for (const model of ['broken', `${'donau-dampf-schiff-fahrt-'.repeat(4)}image`])
    await insertJobs(dashboard, workspaceId, keyId, 1, model);
  await endJobs(dashboard, workspaceId, 'broken', 'failed', 'generation_failed');
  await eyes.look(page, `${path}/jobs`, 'jobs');
  await eyes.look(page, `${path}/jobs?status=cancelled`, 'jobs-none-of-status');
  await page.route('**/console/**', (route) => route.abort());
  await page.goto(`${path}/jobs`);
  await page.getByText('The region does not answer').waitFor();
  await eyes.check(page, 'jobs-region-away');
}

/** Walks over the payments of a new workspace: none, one in each state, and what follows the return from the payment page. */
export async function walkBilling(
  { account, payments }: RegionalDashboard,
  { page, path, workspaceId }: OpenWorkspace,
  eyes: Eyes,
): Promise<void> {
  await eyes.look(page, `${path}/billing`, 'billing-empty');
  await page.getByRole('radio', { name: 'Another amount' }).check();
  await page.getByLabel('Amount in dollars').fill('4.99');
  await page.getByRole('button', { name: 'Go to the payment page' }).click();
  await page.getByText('This field must be an amount from $5.00 to $5,000.00.').waitFor();
  await eyes.check(page, 'billing-wrong-amount');
  await page.getByLabel('Amount in dollars').fill('12.5');
  await page.getByText('Added on the payment page').waitFor();
  await page.getByRole('button', { name: 'Go to the payment page' }).click();
  await page.waitForURL(/\/c\/pay\//);
  const checkout = page.url();
  await page.getByRole('link', { name: 'Cancel and go back' }).click();
  await page.getByText('$12.50 is not paid, and nothing was charged.').waitFor();
  await eyes.check(page, 'billing-open');
  await page.getByRole('button', { name: 'Go on to the payment', exact: true }).click();
  await page.waitForURL(checkout);
  const { next } = await payments.pay(checkout, { country: 'IE' });
  await page.goto(next);
  await page.getByText('$12.50 was added to your credit.').waitFor();
  await page.getByRole('link', { name: /^pdf of TURN-/ }).waitFor();
  await page.getByText('$5.75', { exact: true }).waitFor();
  await eyes.check(page, 'billing-paid');
  await page.getByRole('button', { name: 'Switch on automatic top-up' }).click();
  await page.getByLabel('When the credit is below, in dollars').fill('little');
  await page.getByRole('button', { name: 'Allow these charges' }).click();
  await page.getByText('This field must be an amount, as 25 or 12.50.').waitFor();
  await page.getByLabel('When the credit is below, in dollars').fill('7.5');
  await page.getByText('When the balance of this workspace falls below $7.50,').waitFor();
  await eyes.check(page, 'billing-automatic-dialog');
  await page.getByRole('button', { name: 'Allow these charges' }).click();
  await page.getByRole('button', { name: 'Switch off automatic top-up' }).click();
  await page.getByRole('button', { name: 'Switch off', exact: true }).click();
  await page.getByText('Off: a member switched it off.').waitFor();
  await page.getByRole('button', { name: 'Saved cards' }).click();
  await eyes.check(page, 'billing-cards-dialog');
  await page.getByRole('button', { name: /^Remove Visa ending in 4242/ }).click();
  await page.getByText('is charged no more').waitFor();
  await eyes.check(page, 'billing-remove-card-dialog');
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText('No card is saved. A payment by card saves it.').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Enter the address' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('This field must not be empty.').first().waitFor();
  await eyes.check(page, 'billing-details-dialog');
  await enterDetails(page, { country: 'DE', vatId: 'DE123456789' });
  await page.getByText('Not valid, so VAT is charged.').waitFor();
  await page.getByText('$4.75', { exact: true }).waitFor();
  await eyes.check(page, 'billing-vat-id-not-valid');
  await page.getByRole('button', { name: 'Change the address' }).click();
  await enterDetails(page, { country: 'DE', vatId: 'DE123456100' });
  await page.getByText('Reverse charge: your business owes the VAT in its own country.').waitFor();
  await eyes.check(page, 'billing-reverse-charge');
  const { url } = await startTopUp(page, path);
  await page.route('**/top-up-preview*', (route) => route.abort());
  for (const state of ['processing', 'declined', 'expired']) {
    await account.db.execute(sql`
      UPDATE top_up SET state = ${state} WHERE workspace_id = ${workspaceId} AND charge_id IS NULL`);
    await page.goto(url);
    await page.getByText('$25.00').last().waitFor();
    await eyes.check(page, `billing-${state}`);
  }
}

/** Walks over the alerts of a workspace: none, the dialogs that change them, and raised ones with each state of a webhook. */
export async function walkAlerts(
  { account }: RegionalDashboard,
  { page, path, workspaceId }: OpenWorkspace,
  eyes: Eyes,
): Promise<void> {
  await eyes.look(page, `${path}/alerts`, 'alerts-empty');
  await page.getByRole('button', { name: 'Change the alerts' }).press('Enter');
  await page.getByLabel('Budget of a month in dollars').fill('much');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('must be an amount in dollars').waitFor();
  await eyes.check(page, 'alerts-dialog');
  await page.getByLabel('Budget of a month in dollars').fill('20');
  await page.getByLabel('When the balance is below, in dollars').fill('7.5');
  await page.getByLabel('Mail').selectOption('To all members who may pay');
  await page.getByRole('button', { name: 'Save', exact: true }).press('Enter');
  await page.getByText('$20.00', { exact: true }).first().waitFor();
  await page.getByText('$7.50', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Set a webhook' }).press('Enter');
  await page.getByLabel('Address').fill('http://10.0.0.7/alerts');
  await page.getByRole('button', { name: 'Set the webhook' }).press('Enter');
  await page.getByText('The address must be https on port 443 of a public host').waitFor();
  await eyes.check(page, 'alerts-webhook-refused');
  const address = `https://hooks.example.com/${LONG}`;
  await page.getByLabel('Address').fill(address);
  await page.getByRole('button', { name: 'Set the webhook' }).press('Enter');
  await page.getByText(/^whsec_/).waitFor();
  await eyes.check(page, 'alerts-webhook-secret');
  await page.getByRole('button', { name: 'I have copied it' }).press('Enter');
  for (const [index, { kind, percent, state, status, error }] of RAISED.entries()) {
    const id = `alert_${index}_${workspaceId}`;
    await account.db.execute(sql`
      INSERT INTO alert (alert_id, workspace_id, kind, percent, limit_nano_usd, value_nano_usd, period)
      VALUES (${id}, ${workspaceId}, ${kind}, ${percent}, 20000000000, 16000000000, '2026-11')`);
    if (state !== null)
      await account.db.execute(sql`
        INSERT INTO alert_delivery (delivery_id, alert_id, url, state, attempts, last_status, last_error, ended_at)
        VALUES (${`delivery_${id}`}, ${id}, ${address}, ${state}, ${index}, ${status}, ${error},
          CASE WHEN ${state} = 'waiting' THEN NULL ELSE now() END)`);
  }
  await eyes.look(page, `${path}/alerts`, 'alerts');
  await page.getByText('3 attempts').first().waitFor();
  await page.getByText('80 % of the budget of').waitFor();
  await page.getByRole('button', { name: 'Remove the webhook' }).press('Enter');
  await eyes.check(page, 'alerts-remove-dialog');
  await page.getByRole('button', { name: 'Remove it' }).press('Enter');
  await page.getByText('Alerts are posted nowhere').first().waitFor();
}

const RAISED = [
  { kind: 'balance', percent: 0, state: null, status: null, error: null },
  { kind: 'budget', percent: 50, state: 'delivered', status: 204, error: null },
  { kind: 'budget', percent: 80, state: 'given_up', status: null, error: 'too_slow' },
  { kind: 'cap', percent: 100, state: 'waiting', status: 500, error: null },
];

/** Fills the open dialog of the invoice address, and saves it. */
export async function enterDetails(page: Page, { country, vatId }: { country: string; vatId: string }): Promise<void> {
  await page.getByLabel('Name or company').fill(AWKWARD);
  await page.getByLabel('Street and number').fill('Musterweg 1');
  await page.getByLabel('Postal code').fill('10115');
  await page.getByLabel('City').fill('Berlin');
  await page.getByLabel('Country').selectOption(country);
  await page.getByLabel('VAT id').fill(vatId);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Starts a payment of $25 from the page. Returns the address to which its payment page leads back. */
async function startTopUp(page: Page, path: string): Promise<{ url: string }> {
  await page.goto(`${path}/billing`);
  await page.getByRole('button', { name: 'Go to the payment page' }).click();
  await page.waitForURL(/\/c\/pay\//);
  await page.getByRole('link', { name: 'Cancel and go back' }).click();
  await page.getByText('$25.00 is not paid').waitFor();
  return { url: page.url() };
}

/** Computes the contrast of each colour of a series with the page. */
const CONTRASTS = `(() => {
  const probe = document.body.appendChild(document.createElement('i'));
  const luminance = (color) => {
    const parts = color.match(/\\d+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const page = luminance(getComputedStyle(document.body).backgroundColor);
  return Array.from({ length: 9 }, (_, index) => {
    probe.className = 'series-' + index;
    const series = luminance(getComputedStyle(probe).color);
    return (Math.max(page, series) + 0.05) / (Math.min(page, series) + 0.05);
  });
})()`;

/** Walks over the models of the region. Leaves it without models. */
export async function walkModels(dashboard: RegionalDashboard, eyes: Eyes): Promise<void> {
  dashboard.catalog.show(MODELS, LIVE);
  const page = await (await dashboard.openContext()).newPage();
  await page.route('**/console/models', (route) => route.continue());
  await eyes.look(page, '/models', 'models');
  await page.getByRole('button', { name: 'Use it: Small Video' }).click();
  await eyes.check(page, 'models-first-call');
  await page.keyboard.press('Escape');
  await page.getByLabel('Input tokens a call').fill('many');
  await eyes.check(page, 'models-wrong-amount');
  dashboard.catalog.show([], {});
  await eyes.look(page, '/models', 'models-empty');
  await page.route('**/console/models', (route) => route.abort());
  await page.goto('/models?region=us');
  await page.getByText('The region does not answer').waitFor();
  await eyes.check(page, 'models-region-away');
}
