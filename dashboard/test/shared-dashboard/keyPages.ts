import { beforeEach, expect, it } from '@jest/globals';
import { isWellFormedApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { Page } from 'playwright-core';
import { registerAKey, verify } from '../../../services/auth/test/builders.ts';
import { inBrowser } from '../inBrowser.ts';
import { press } from '../startDashboard.ts';
import { IN_USE } from '../startRegion.ts';
import { AWKWARD } from '../walks.ts';
import { dashboard } from './dashboard.ts';

inBrowser('the pages of keys and limits in Chromium', () => {
  beforeEach(() => dashboard.setCredit(IN_USE));

  /** Opens the page of a new key. */
  async function openKey(address: string, fields: Record<string, string> = {}) {
    const opened = await dashboard.prepareWorkspace(address);
    const { workspaceId, path, page } = opened;
    const key = await registerAKey(dashboard.auth, { workspace_id: workspaceId, name: 'Laptop', ...fields });
    await page.goto(`${path}/keys/${key.keyId}`);
    await page.getByRole('heading', { name: 'Key', level: 1 }).waitFor();
    return { ...opened, ...key };
  }

  /** Signs in as a new member of an organization. */
  async function openMember(address: string, member: { organizationId: string; role: string }): Promise<Page> {
    const { page } = await dashboard.openSession(address);
    const { userId } = await dashboard.account.db.email.findUniqueOrThrow({ where: { address } });
    await dashboard.account.db.member.create({ data: { ...member, userId } });
    return page;
  }

  /** Asks for a rotation whose answer is lost on its way: the region has done it, and the page shows an error. */
  async function loseAnswerToRotation(page: Page): Promise<void> {
    await page.route(
      '**/rotate',
      async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await page.getByRole('button', { name: /^Rotate/ }).click();
    await page.getByRole('button', { name: 'Make the new secret' }).click();
    await page.getByRole('alert').first().waitFor();
  }

  /** Says whether calls with a secret are admitted. */
  const isValid = async (apiKey: string): Promise<boolean> => (await verify(dashboard.auth, apiKey)).key !== null;

  it('edits a key by keyboard alone, and sends the changed fields alone', async () => {
    const { page, keyId } = await openKey('ann@keys.example', { expires_at: '2099-05-04T12:30:00Z' });
    const bodies: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PATCH') bodies.push(request.postDataJSON());
    });
    await press(page, 'Edit');
    const retype = async (text: string) => {
      await page.keyboard.press('Control+a');
      await page.keyboard.type(text);
      await page.keyboard.press('Tab');
    };
    await page.getByRole('textbox', { name: 'Name' }).focus();
    await retype('Server');
    await retype('none');
    await page.keyboard.press('Enter');
    await page.getByText('This field must be a whole number.').waitFor();
    expect(bodies).toEqual([]);
    await page.getByLabel('Requests a minute').focus();
    await retype('60');
    await page.getByLabel('Budget in dollars').focus();
    await page.keyboard.type('0.000000001');
    await page.keyboard.press('Enter');
    await page.getByText('Server', { exact: true }).first().waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(bodies).toEqual([{ name: 'Server', rpm: 60, max_budget_nano_usd: '1' }]);
    const key = await dashboard.auth.db.apiKey.findUniqueOrThrow({ where: { keyId } });
    expect(key.expiresAt?.toISOString()).toBe('2099-05-04T12:30:00.000Z');

    await press(page, 'Edit');
    await page.getByLabel('Budget in dollars').fill('');
    await page.getByLabel('Expires at the start of').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Never', { exact: true }).waitFor();
    expect(bodies[1]).toEqual({ max_budget_nano_usd: null, expires_at: null });
  });

  it('limits a key to models and to a budget of each week, shows both, and lifts them', async () => {
    const { page, keyId } = await openKey('kim@keys.example');
    const bodies: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PATCH') bodies.push(request.postDataJSON());
    });
    const edit = () => page.getByRole('button', { name: 'Edit' }).click();
    await edit();
    await page.getByLabel('Models').fill('Not an id');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('This field must be a model id.').waitFor();
    await page.getByLabel('Models').fill('bge-m3, llama-3.3-70b-instruct');
    await page.getByLabel('Dollars of each period').fill('2.5');
    await page.getByLabel('Period', { exact: true }).selectOption('Week from Monday');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('bge-m3, llama-3.3-70b-instruct', { exact: true }).waitFor();
    await page.getByText('of $2.50 spent in this week').waitFor();
    await edit();
    await page.getByLabel('Models').fill('');
    await page.getByLabel('Dollars of each period').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('All', { exact: true }).waitFor();
    expect(bodies).toEqual([
      {
        allowed_models: ['bge-m3', 'llama-3.3-70b-instruct'],
        period_budget: { period: 'week', max_nano_usd: '2500000000' },
      },
      { allowed_models: null, period_budget: null },
    ]);
    const key = await dashboard.auth.db.apiKey.findUniqueOrThrow({ where: { keyId } });
    expect(key).toMatchObject({ allowedModels: [], budgetPeriod: null, periodBudgetNanoUsd: null });
    await page.getByText('Models: all → bge-m3, llama-3.3-70b-instruct').waitFor();
  });

  it('rotates a secret: the new one is on one screen, and the old one works until the time that the dialog names', async () => {
    const { page, apiKey: old } = await openKey('bob@keys.example');
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url(), request.postData() ?? ''));
    await page.getByRole('button', { name: /^Rotate the secret of Laptop/ }).click();
    await page.getByText('works beside the new secret until').waitFor();
    const until = await page.locator('dialog time').getAttribute('datetime');
    expect(Date.parse(until ?? '') - Date.now()).toBeGreaterThan(23 * 3_600_000);
    await page.getByLabel('The old secret works for').selectOption('It ends at once');
    await page.getByText(`Calls with sk-...${old.slice(-4)} are refused at once`).waitFor();
    await page.getByLabel('The old secret works for').selectOption('7 days');
    await page.getByRole('button', { name: 'Make the new secret' }).click();

    const secret = (await page.getByLabel('Secret of the key').textContent()) ?? '';
    expect(isWellFormedApiKey(secret)).toBe(true);
    for (let press = 0; press < 3; press += 1) await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    expect(await page.getByLabel('Secret of the key').textContent()).toBe(secret);
    await page.getByRole('button', { name: 'I have copied it. It cannot be shown again.' }).click();
    expect(await page.content()).not.toContain(secret);
    expect(sent.join()).toContain(toKeySha256(secret));
    expect(sent.join()).not.toContain(secret.slice(3, -6));
    expect([await isValid(secret), await isValid(old)]).toEqual([true, true]);

    await page.getByText(`The old secret, sk-...${old.slice(-4)}, works until`).waitFor();
    expect(await page.getByRole('button', { name: /^Rotate/ }).count()).toBe(0);
    await page.getByRole('button', { name: /^End the old secret/ }).click();
    await page.getByRole('button', { name: 'End it now' }).click();
    await page.getByRole('button', { name: /^Rotate/ }).waitFor();
    expect([await isValid(secret), await isValid(old)]).toEqual([true, false]);
  });

  it('shows the new secret of a rotation whose first answer was lost', async () => {
    const { page } = await openKey('cid@keys.example');
    await loseAnswerToRotation(page);
    await page.getByRole('button', { name: 'Make the new secret' }).click();
    const secret = (await page.getByLabel('Secret of the key').textContent()) ?? '';
    expect(await isValid(secret)).toBe(true);
  });

  it('keeps the new secret of a rotation whose answer was lost, also for a member who gives up', async () => {
    const { page, apiKey: old } = await openKey('lea@keys.example');
    await loseAnswerToRotation(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Keep this secret until you know' }).waitFor();
    await page.keyboard.press('Escape');
    const secret = (await page.getByLabel('Secret of the key').textContent()) ?? '';
    expect([await isValid(secret), await isValid(old)]).toEqual([true, true]);
    await page.getByRole('button', { name: /^I have copied it/ }).click();
    await page.getByText(`sk-...${secret.slice(-4)}`, { exact: true }).waitFor();
    expect(await page.content()).not.toContain(secret);
  });

  it('says what to do about a key that is blocked, and leaves the block of the operator', async () => {
    const { page, path, keyId } = await openKey('dan@keys.example');
    await page.getByRole('button', { name: /^Block/ }).click();
    await page.getByText('A member blocked it. Unblock it').waitFor();
    expect(await page.getByRole('button', { name: /^Rotate/ }).count()).toBe(0);
    await dashboard.auth.callInternal('POST', `/internal/keys/${keyId}/block`);
    await page.goto(`${path}/keys`);
    await page.getByRole('link', { name: 'Laptop' }).click();
    await page.getByText('The operator of the service blocked it.').waitFor();
    expect(await page.getByRole('button', { name: /[bB]lock Laptop/ }).count()).toBe(0);
  });

  it('shows the live use of a key, reads it again, and keeps it when the gate is away', async () => {
    const { page } = await openKey('eva@keys.example', { max_budget_nano_usd: '5000000000' });
    await page.getByText('540 of 600').waitFor();
    await page.getByText('1,200,000 of 1,000,000').waitFor();
    await page.getByText('$1.50 of $5.00 spent, $0.25 held, $3.25 left').waitFor();
    expect(await page.getByLabel('Tokens this minute').getAttribute('value')).toBe('1000');
    dashboard.setCredit({ ...IN_USE, used_requests: 7 });
    await page.getByText('7 of 600').waitFor();
    dashboard.auth.answerSpend((_req, res) => void res.writeHead(503).end('{}'));
    await page.getByText('The page shows what was loaded before').waitFor();
    await page.getByText('7 of 600').waitFor();
    dashboard.setCredit(IN_USE);
  });

  it('answers a key that is not there in words', async () => {
    const { page, path } = await openKey('fin@keys.example');
    await page.goto(`${path}/keys/key_none`);
    await page.getByText('This workspace has no such key').waitFor();
  });

  it('shows the limits of 10,000 keys by pages, and reads the use of shown keys alone', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('gil@keys.example');
    await dashboard.registerMany(workspaceId, 10_001);
    await dashboard.auth.db.apiKey.update({ where: { keyId: `key_${workspaceId}_0` }, data: { status: 'revoked' } });
    await dashboard.auth.db.workspace.update({ where: { workspaceId }, data: { accountCapNanoUsd: 10_000_000_000n } });
    const read = new Set<string>();
    page.on('request', (request) => {
      if (request.url().endsWith('/headroom')) read.add(request.url());
    });
    await page.goto(`${path}/limits`);
    await page.getByText('$7.25 of $10.00 spent').waitFor();
    await page.getByText('1 to 20 of 10,000', { exact: true }).waitFor();
    expect(await page.getByRole('row').nth(1).textContent()).toContain('Key 10000');
    await page.getByText('540 of 600').nth(19).waitFor();
    expect(read.size).toBe(20);
    await page.getByLabel('Find by name').fill('0043');
    await page.getByText('1 to 1 of 1', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Key 43', exact: true }).click();
    await page.getByRole('heading', { name: 'Key', level: 1 }).waitFor();
    await page.getByText('540 of 600').waitFor();
  });

  it('shows a billing viewer the limits of the workspace alone', async () => {
    const { page, path, organizationId } = await dashboard.prepareWorkspace('hal@keys.example');
    const viewer = await openMember('ivo@keys.example', { organizationId, role: 'billing_viewer' });
    await page.close();
    await viewer.goto(`${path}/limits`);
    await viewer.getByText('$7.25 spent, no cap').waitFor();
    expect(await viewer.getByText('Of each key').count()).toBe(0);
    await viewer.getByRole('link', { name: 'Why was my call refused?' }).click();
    await viewer.getByRole('heading', { name: 'Why was my call refused?' }).waitFor();
  });

  it('shows the history of keys, by pages, and to those with the right alone', async () => {
    const { page, path, keyId, workspaceId, organizationId } = await openKey('jil@keys.example');
    await page.getByText('No member has changed this key yet').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Tokens a minute').fill('5000');
    await page.getByLabel('Budget in dollars').fill('2.5');
    await page.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('row', { name: /Edited/ });
    await row.getByText('Tokens a minute: 1,000,000 → 5,000').waitFor();
    await row.getByText('Budget: none → $2.50').waitFor();
    await row.getByText('Owner').waitFor();
    await dashboard.auth.db.$executeRaw`
      INSERT INTO key_change (workspace_id, key_id, user_id, role, action, before, after)
      SELECT ${workspaceId}, 'key_other', 'user_gone', 'developer', 'update',
        jsonb_build_object('name', 'A' || n), jsonb_build_object('name', ${AWKWARD}::text || n) FROM generate_series(1, 250) AS n`;
    await page.reload();
    await row.waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.goto(`${path}/keys`);
    await page.getByRole('link', { name: 'History of keys' }).click();
    await page.getByText('user_gone').first().waitFor();
    expect(await page.getByRole('row').count()).toBe(101);
    await page.getByRole('button', { name: 'Show older changes' }).click();
    await page.getByRole('row').nth(200).waitFor();
    await page.getByRole('button', { name: 'Show older changes' }).click();
    await page.getByRole('link', { name: 'Laptop' }).waitFor();
    expect(await page.getByRole('button', { name: 'Show older changes' }).count()).toBe(0);

    const developer = await openMember('kai@keys.example', { organizationId, role: 'developer' });
    await developer.goto(`${path}/key-changes`);
    await developer.getByText('Your role does not show this').waitFor();
    await developer.goto(`${path}/keys/${keyId}`);
    await developer.getByText('540 of 600').waitFor();
    expect(await developer.getByRole('heading', { name: 'History' }).count()).toBe(0);
  });
});
