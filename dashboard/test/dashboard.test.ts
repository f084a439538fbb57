import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { readPages } from '../../services/control-plane/src/pages/pages.ts';
import { startAccount, type TestAccount } from '../../services/control-plane/test/startAccount.ts';
import { buildDashboard } from '../buildDashboard.ts';

const { TURNPIKE_TEST_BROWSER: channel } = process.env;
const DASHBOARD = join(import.meta.dirname, '..');
/** Pictures of every page, for people to look at. */
const PICTURES = join(DASHBOARD, 'pictures');
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const TIMEOUT_MS = 60_000;
/** Lists the elements whose content is wider than they are, unless they scroll or cut it. */
const LIST_SPILLING = `[...document.querySelectorAll('html, body, body *')]
  .filter((element) => element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1)
  .filter((element) => element.localName === 'html' || getComputedStyle(element).overflowX === 'visible')
  .map((element) => element.localName + '.' + element.className)`;
/** Axe reads each page twice, which takes a busy machine minutes. */
jest.setTimeout(600_000);

const inBrowser = channel === undefined ? describe.skip : describe;

inBrowser('the dashboard in Chromium', () => {
  let account: TestAccount;
  let browser: Browser;
  let origin: string;
  /** Errors and reports of every page that was opened. */
  const complaints: string[] = [];

  beforeAll(async () => {
    const dist = await buildDashboard(() => undefined);
    account = await startAccount({ pages: await readPages(dist) });
    // Browsers keep a session of `localhost` over plain http, and of no other such address.
    origin = account.url.replace('127.0.0.1', 'localhost');
    browser = await chromium.launch({ executablePath: `/usr/bin/${channel}`, args: ['--no-sandbox'] });
    await mkdir(PICTURES, { recursive: true });
  });
  afterAll(async () => {
    await browser?.close();
    await account?.stop();
  });

  async function openContext(): Promise<BrowserContext> {
    const context = await browser.newContext({ baseURL: origin, locale: 'en-GB', timezoneId: 'UTC' });
    context.setDefaultTimeout(TIMEOUT_MS);
    context.on('page', (page) => {
      page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
      page.on('console', (message) => {
        // Chromium reports every refused request itself.
        const isRefusal = message.text().startsWith('Failed to load resource');
        if (['error', 'warning'].includes(message.type()) && !isRefusal)
          complaints.push(`${page.url()}: ${message.text()}`);
      });
    });
    return context;
  }

  /** Signs in as people do: the address on the page, then the link of the mail. */
  async function signIn(page: Page, address: string): Promise<void> {
    const before = account.mails.length;
    await page.goto('/sign-in');
    await page.getByLabel('E-mail address').fill(address);
    await page.getByRole('button', { name: 'Mail me a link' }).click();
    await page.getByText('a link is on its way').waitFor();
    await page.goto(`/sign-in#${await account.readToken(address, before)}`);
    await page.getByRole('button', { name: 'Sign in now' }).click();
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
  }

  /** A page in a new browser, in which the user with this address is signed in. */
  async function openAs(address: string): Promise<Page> {
    const page = await (await openContext()).newPage();
    await page.goto(`/sign-in#${await mailedToken(address)}`);
    await page.getByRole('button', { name: 'Sign in now' }).click();
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
    return page;
  }

  it('signs in and out by keyboard alone', async () => {
    const page = await (await openContext()).newPage();
    await page.goto('/sign-in');
    await page.getByLabel('E-mail address').focus();
    await page.keyboard.type('nobody at all');
    await page.keyboard.press('Enter');
    await page.getByText('must be an e-mail address').waitFor();
    await page.goto(`/sign-in#${await mailedToken('eve@example.com')}`);
    await page.getByRole('button', { name: 'Sign in now' }).waitFor();
    await press(page, 'Sign in now');
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
    await press(page, 'Sign out');
    await page.getByLabel('E-mail address').waitFor();
  });

  it('ends a session from another one', async () => {
    const fay = await openAs('fay@example.com');
    const elsewhere = await openAs('fay@example.com');
    await elsewhere.goto('/sessions');
    await elsewhere.getByRole('button', { name: /^End the session of Chrome on Linux/ }).click();
    await elsewhere.getByRole('button', { name: /^End the session/ }).waitFor({ state: 'detached' });
    await fay.reload();
    await fay.waitForURL('**/sign-in');
  });

  it('shows that a read failed, and reads again at a click', async () => {
    const page = await openAs('hal@example.com');
    await page.route('**/account/sessions', (route) => route.abort());
    await page.reload();
    await page.getByText('The account layer does not answer').waitFor();
    await page.unroute('**/account/sessions');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('This session').waitFor();
  });

  /** Reaches a button by Tab, then presses it. */
  async function press(page: Page, name: string): Promise<void> {
    for (let step = 0; step < 30; step += 1) {
      if ((await page.evaluate('document.activeElement.textContent')) === name) return page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${name}`);
  }

  async function mailedToken(address: string): Promise<string> {
    const before = account.mails.length;
    await account.openBrowser().post('/account/sign-in/link', { address });
    return account.readToken(address, before);
  }

  it.each([
    'sign_in_is_over',
    'provider_refused',
    'address_not_verified',
    'sign_in_and_link_instead',
    'identity_is_taken',
    'another_user',
  ])('says in a sentence that a sign-in at a provider ended with %s', async (reason) => {
    const page = await (await openContext()).newPage();
    await page.goto(`/sign-in?error=${reason}`);
    expect(await page.getByRole('alert').textContent()).toMatch(/\. |\.$/);
  });

  it.each(['light', 'dark'] as const)('has no fault of WCAG 2.2 AA on any page in %s', async (colorScheme) => {
    const context = await openContext();
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme });
    await look(page, '/sign-in', 'sign-in');
    await look(page, '/sign-in?error=another_user', 'sign-in-error');
    await look(page, `/sign-in#${'x'.repeat(43)}`, 'sign-in-link');
    await look(page, `/step-up#${'x'.repeat(43)}`, 'step-up');
    await signIn(page, `looks-${colorScheme}@example.com`);
    await look(page, '/sessions', 'sessions');
    await page.route('**/account/sessions', (route) => route.abort());
    await page.goto('/sessions');
    await page.getByText('The account layer does not answer').waitFor();
    await check(page, 'sessions-failed');

    async function look(page: Page, path: string, name: string): Promise<void> {
      // A page whose path differs in the part behind `#` alone is not loaded anew.
      await page.goto('about:blank');
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      await check(page, name);
    }

    async function check(page: Page, name: string): Promise<void> {
      const { violations } = await new AxeBuilder({ page }).withTags(WCAG).analyze();
      expect(violations.map(({ id, nodes }) => ({ name, id, where: nodes.map(({ html }) => html) }))).toEqual([]);
      for (const [size, width] of [
        ['small', 320],
        ['large', 1_440],
        ['huge', 2_560],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.screenshot({ fullPage: true, path: join(PICTURES, `${name}-${colorScheme}-${size}.png`) });
        const spilling = await page.evaluate(LIST_SPILLING);
        expect({ name, size, spilling }).toEqual({ name, size, spilling: [] });
      }
    }
  });

  it('draws no error and no report of the content security policy', () => {
    expect(complaints).toEqual([]);
  });
});
