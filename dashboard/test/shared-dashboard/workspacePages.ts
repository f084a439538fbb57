import { expect, it } from '@jest/globals';
import { isWellFormedApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { Page } from 'playwright-core';
import { registerAKey } from '../../../services/auth/test/builders.ts';
import { addCredit } from '../../../services/usage-ledger/src/credits/addCredit.ts';
import { inBrowser } from '../inBrowser.ts';
import { goTo } from '../startDashboard.ts';
import { dashboard } from './dashboard.ts';

inBrowser('the pages of a workspace in Chromium', () => {
  const prepareWorkspace = (address: string) => dashboard.prepareWorkspace(address);

  /** Lists the requests of a page to the console host and for tokens, as method, path and status. */
  function record(page: Page): string[] {
    const seen: string[] = [];
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      const method = response.request().method();
      if (/^\/console\/|console-token$/.test(pathname) && method !== 'OPTIONS')
        seen.push(`${method} ${pathname.replace(/.*\//, '')} ${response.status()}`);
    });
    return seen;
  }

  it('opens a workspace, and asks for one token for all that its pages read', async () => {
    const { page, path } = await dashboard.openWorkspace('ann@example.com');
    await page.getByRole('region', { name: 'Credit' }).getByText('$12.50').waitFor();
    const seen = record(page);
    await page.goto(`${path}/keys`);
    await page.getByText('This workspace has no key yet').waitFor();
    await goTo(page, 'Overview');
    await page.getByRole('region', { name: 'Credit' }).getByText('$12.50').waitFor();
    await goTo(page, 'Keys');
    expect(seen.filter((line) => line.includes('token'))).toEqual(['POST console-token 201']);
  });

  it('keeps a cap that was set in another tab while the form for the name was open', async () => {
    const { page, path } = await prepareWorkspace('two@tabs.example');
    const open = async (tab: Page) => {
      await tab.goto(path.replace(/\/workspaces\/.*/, '/workspaces'));
      await tab.getByRole('button', { name: 'Change workspace in United States' }).click();
      return tab;
    };
    await open(page);
    const other = await open(await page.context().newPage());
    await other.getByLabel('Monthly cap in dollars').fill('3.5');
    await other.getByRole('button', { name: 'Save' }).click();
    await other.getByText('At most $3.50 a month.').waitFor();
    await page.getByRole('textbox', { name: 'Name' }).fill('Renamed');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('main').getByText('Renamed').waitFor();
    await page.getByText('At most $3.50 a month.').waitFor();
  });

  it('creates a key whose secret leaves the browser for no request and no store, and is on one screen', async () => {
    const { page, path } = await prepareWorkspace('eve@example.com');
    const sent: string[] = [];
    page.on('request', (request) =>
      sent.push(request.url(), JSON.stringify(request.headers()), request.postData() ?? ''),
    );
    await page.goto(`${path}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Laptop');
    await page.getByLabel('Budget in dollars').fill('2.5');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const secret = (await page.getByLabel('Secret of the key').textContent()) ?? '';
    expect(isWellFormedApiKey(secret)).toBe(true);
    expect((await dashboard.auth.getPublic('/v1/svc/key', `Bearer ${secret}`)).body).toMatchObject({
      max_budget_usd: 2.5,
    });

    await page.getByRole('link', { name: 'Use it in a first call' }).click();
    await page
      .getByRole('region', { name: 'First call' })
      .last()
      .getByText(`Authorization: Bearer ${secret}`)
      .first()
      .waitFor();
    await page.getByLabel('Language').selectOption('Python');
    await page.getByText(`api_key="${secret}"`).waitFor();
    await goTo(page, 'Keys');
    await page.getByRole('cell', { name: 'Laptop', exact: true }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await goTo(page, 'Overview');
    await page
      .getByText(`Bearer sk-...${secret.slice(-4)}`)
      .first()
      .waitFor();
    expect(await page.content()).not.toContain(secret);

    expect(sent.join()).toContain(toKeySha256(secret));
    const stored = JSON.stringify([
      await page.context().storageState({ indexedDB: true }),
      await page.evaluate('JSON.stringify([{ ...sessionStorage }, history.state, location.href, document.title])'),
    ]);
    for (const place of [sent.join(), stored]) expect(place).not.toContain(secret.slice(3, -6));
    // Nor is the console token stored, which is a JWT.
    expect(stored).not.toContain('eyJ');
    await page.goto(`${path}/keys`);
    expect(await page.content()).not.toContain(secret);
  });

  it('blocks, unblocks and revokes a key, and leaves the block of the operator', async () => {
    const { page, path, workspaceId } = await prepareWorkspace('fay@example.com');
    const { apiKey, keyId } = await registerAKey(dashboard.auth, { workspace_id: workspaceId, name: 'Laptop' });
    await registerAKey(dashboard.auth, { workspace_id: workspaceId, name: 'Server' });
    const blocked = await registerAKey(dashboard.auth, { workspace_id: workspaceId, name: 'Shared' });
    await dashboard.auth.callInternal('POST', `/internal/keys/${blocked.keyId}/block`);
    await dashboard.spend({ workspaceId, keyId, nanoUsd: 1_250_000_000n });
    await page.goto(`${path}/keys`);
    const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name} `) });
    await row('Laptop').getByText('$1.25').waitFor();
    await row('Shared').getByText('by the operator').waitFor();
    expect(
      await row('Shared')
        .getByRole('button', { name: /^Unblock/ })
        .count(),
    ).toBe(0);
    await row('Laptop')
      .getByRole('button', { name: /^Block/ })
      .click();
    await row('Laptop').getByText('Blocked', { exact: true }).waitFor();
    await row('Laptop')
      .getByRole('button', { name: /^Unblock/ })
      .click();
    await row('Laptop').getByText('Active', { exact: true }).waitFor();
    expect((await dashboard.auth.getPublic('/v1/svc/key', `Bearer ${apiKey}`)).status).toBe(200);
    await row('Laptop')
      .getByRole('button', { name: /^Revoke/ })
      .click();
    await page.getByText('This cannot be undone').waitFor();
    await page.getByRole('button', { name: 'Revoke for good' }).click();
    await row('Laptop').getByText('Revoked', { exact: true }).waitFor();
    expect((await dashboard.auth.getPublic('/v1/svc/key', `Bearer ${apiKey}`)).status).toBe(401);
    await page.getByLabel('Status').selectOption('Active');
    await page.getByText('1 to 1 of 1', { exact: true }).waitFor();
  });

  it('shows 10,000 keys by pages, the newest first, and finds one of them', async () => {
    const { page, path, workspaceId } = await prepareWorkspace('gus@example.com');
    await dashboard.registerMany(workspaceId, 10_000);
    await page.goto(`${path}/keys`);
    await page.getByText('1 to 50 of 10,000', { exact: true }).waitFor();
    expect(await page.getByRole('row').nth(1).getByRole('cell').first().textContent()).toBe('Key 9999');
    expect(await page.getByRole('row').count()).toBe(51);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('51 to 100 of 10,000', { exact: true }).waitFor();
    await page.getByLabel('Find by name').fill('0042');
    await page.getByRole('cell', { name: 'Key 42', exact: true }).waitFor();
    await page.getByText('1 to 1 of 1', { exact: true }).waitFor();
    await page.getByLabel('Find by name').fill('nothing like it');
    await page.getByText('No key is like that').waitFor();
  });

  it('shows money and no keys to a billing viewer', async () => {
    const { page, path, organizationId } = await prepareWorkspace('ida@example.com');
    const { page: viewer } = await dashboard.openSession('jon@example.com');
    const { userId } = await dashboard.account.db.email.findUniqueOrThrow({ where: { address: 'jon@example.com' } });
    await dashboard.account.db.member.create({ data: { organizationId, userId, role: 'billing_viewer' } });
    await page.close();
    await viewer.goto(path);
    await viewer.getByRole('region', { name: 'Credit' }).getByText('$12.50').waitFor();
    expect(await viewer.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    await viewer.goto(`${path}/keys`);
    await viewer.getByText('Your role does not show this').waitFor();

    // Another role counts without loading the page anew, although the token that the page has names the old one.
    const where = { organizationId_userId: { organizationId, userId } };
    await dashboard.account.db.member.update({ where, data: { role: 'developer' } });
    await goTo(viewer, 'Overview');
    await viewer.goBack();
    await viewer.getByText('This workspace has no key yet').waitFor();
  });

  it('says how long the credit lasts, and shows no days without credit or spend', async () => {
    const { page, path, workspaceId } = await prepareWorkspace('kim@example.com');
    const showsDays = async (text: string) => {
      await page.goto(path);
      await page.getByRole('region', { name: 'Lasts for' }).getByText(text, { exact: true }).waitFor();
    };
    await showsDays('No credit');
    await addCredit(dashboard.ledger.db, { creditId: workspaceId, workspaceId, amountNanoUsd: 20_000n, note: 'start' });
    await showsDays('No spend yet');
    const owner = { workspaceId, keyId: `key_${workspaceId}` };
    await dashboard.spend({ ...owner, nanoUsd: 4_000n });
    await showsDays('4 days');
    await page.getByText('the spend of the last day.').waitFor();
    await dashboard.spend({ ...owner, nanoUsd: 15_000n });
    await showsDays('Less than a day');
    await dashboard.spend({ ...owner, nanoUsd: 1_000n });
    await showsDays('No credit');
    const more = { creditId: `more_${workspaceId}`, workspaceId, amountNanoUsd: 10_000_000n, note: 'more' };
    await addCredit(dashboard.ledger.db, more);
    await showsDays('More than a year');
  });

  it('gets a new token once if the host refuses the one that it has', async () => {
    const { page, path } = await prepareWorkspace('ben@example.com');
    const isRefused = { once: true, always: false };
    await page.route('**/console/keys/find*', async (route) => {
      const headers = { ...route.request().headers() };
      if (headers.authorization && (isRefused.once || isRefused.always)) headers.authorization = 'Bearer outdated';
      isRefused.once = false;
      await route.continue({ headers });
    });
    const seen = record(page);
    await page.goto(`${path}/keys`);
    await page.getByText('This workspace has no key yet').waitFor();
    expect(seen).toEqual(['POST console-token 201', 'GET find 401', 'POST console-token 201', 'GET find 200']);

    isRefused.always = true;
    seen.length = 0;
    await page.reload();
    await page.getByText('The console token is missing').waitFor();
    expect(seen).toEqual(['POST console-token 201', 'GET find 401', 'POST console-token 201', 'GET find 401']);
  });

  it('waits for a new workspace until its region knows it', async () => {
    const { page, path, organizationId, workspaceId } = await dashboard.createWorkspace('quick@example.com');
    const refused = page.waitForResponse((answer) => answer.url().includes('/console/') && answer.status() === 404);
    await page.goto(`${path}/keys`);
    await page
      .getByRole('button', { name: /^Create/ })
      .first()
      .click();
    await page.getByLabel('Name').fill('Server');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await refused;
    await dashboard.tellWorkspace(workspaceId, organizationId);
    await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor();
  });

  it('says that the region does not answer, and shows other pages and what was loaded before', async () => {
    const { page, path, workspaceId } = await prepareWorkspace('cleo@example.com');
    await registerAKey(dashboard.auth, { workspace_id: workspaceId, name: 'Laptop' });
    await page.route('**/console/**', (route) => route.abort());
    await page.goto(`${path}/keys`);
    await page.getByText('The region does not answer').waitFor();
    await goTo(page, 'Members');
    await page.unroute('**/console/**');
    await page.getByRole('navigation').getByRole('link', { name: 'Production' }).click();
    await goTo(page, 'Keys');
    await page.getByRole('cell', { name: 'Laptop', exact: true }).waitFor();
    await page.route('**/console/keys/find*', (route) => route.abort());
    await page.getByRole('button', { name: /^Block/ }).click();
    await page.getByText('The page shows what was loaded before').waitFor();
    await page.getByRole('cell', { name: 'Laptop', exact: true }).waitFor();
  });

  it('answers a workspace that is not there in words', async () => {
    const { page, organizationId } = await prepareWorkspace('dora@example.com');
    await page.goto(`/organizations/${organizationId}/workspaces/ws_none`);
    await page.getByText('This organization has no such workspace').waitFor();
  });
});
