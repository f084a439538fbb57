import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createOrganization, goTo, inBrowser, look } from './startDashboard.ts';
import { type RegionalDashboard, startRegionalDashboard } from './startRegion.ts';

/** Axe reads each page twice, which takes a busy machine minutes. */
jest.setTimeout(600_000);

inBrowser('the pages of a workspace in Chromium', () => {
  let dashboard: RegionalDashboard;
  beforeAll(async () => {
    dashboard = await startRegionalDashboard();
  });
  afterAll(() => dashboard?.stop());

  /** Signs in and creates an organization with a workspace. Returns the page, and the path of the workspace. */
  async function openWorkspace(address: string): Promise<{ page: Page; organizationId: string; path: string }> {
    const page = await dashboard.openAs(address);
    const organizationId = await createOrganization(page, 'Acme');
    await page.getByRole('button', { name: 'Create workspace in United States' }).click();
    await page.getByLabel('Name').fill('Production');
    await page.getByRole('button', { name: 'Create for good' }).click();
    await page.getByRole('region', { name: 'United States' }).getByRole('link', { name: 'Production' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const path = new URL(page.url()).pathname;
    await dashboard.tellWorkspace(path.split('/').at(-1) ?? '', organizationId);
    return { page, organizationId, path };
  }

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
    const { page } = await openWorkspace('ann@example.com');
    const seen = record(page);
    await goTo(page, 'Keys');
    await page.getByText('This workspace has no key yet').waitFor();
    await goTo(page, 'Overview');
    await goTo(page, 'Keys');
    expect(seen.filter((line) => line.includes('token'))).toEqual(['POST console-token 201']);
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain('eyJ');
  });

  it('gets a new token once if the host refuses the one that it has', async () => {
    const { page } = await openWorkspace('ben@example.com');
    const isRefused = { once: true, always: false };
    await page.route('**/console/keys*', async (route) => {
      const headers = { ...route.request().headers() };
      if (headers.authorization && (isRefused.once || isRefused.always)) headers.authorization = 'Bearer outdated';
      isRefused.once = false;
      await route.continue({ headers });
    });
    const seen = record(page);
    await goTo(page, 'Keys');
    await page.getByText('This workspace has no key yet').waitFor();
    expect(seen).toEqual(['POST console-token 201', 'GET keys 401', 'POST console-token 201', 'GET keys 200']);

    isRefused.always = true;
    seen.length = 0;
    await page.reload();
    await page.getByText('The console token is missing').waitFor();
    expect(seen).toEqual(['POST console-token 201', 'GET keys 401', 'POST console-token 201', 'GET keys 401']);
  });

  it('says that the region does not answer, and shows other pages', async () => {
    const { page, path } = await openWorkspace('cleo@example.com');
    await page.route('**/console/**', (route) => route.abort());
    await page.goto(`${path}/keys`);
    await page.getByText('The region of this workspace does not answer').waitFor();
    await goTo(page, 'Members');
    await page.unroute('**/console/**');
    await page.goto(`${path}/keys`);
    await page.getByText('This workspace has no key yet').waitFor();
    await page.route('**/console/**', (route) => route.abort());
    await goTo(page, 'Overview');
  });

  it('answers a workspace that is not there in words', async () => {
    const { page, organizationId } = await openWorkspace('dora@example.com');
    await page.goto(`/organizations/${organizationId}/workspaces/ws_none`);
    await page.getByText('This organization has no such workspace').waitFor();
  });

  it.each(['light', 'dark'] as const)('has no fault of WCAG 2.2 AA on any page in %s', async (colorScheme) => {
    const { page, path } = await openWorkspace(`looks-${colorScheme}@example.com`);
    await page.emulateMedia({ colorScheme });
    await look(page, path, 'overview');
    await look(page, `${path}/keys`, 'keys-empty');
  });

  it('draws no error and no report of the content security policy', () => {
    expect(dashboard.complaints).toEqual([]);
  });
});
