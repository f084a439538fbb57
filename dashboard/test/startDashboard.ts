import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findFreePorts } from '../../deploy/local/src/findFreePorts.ts';
import type { RegionHosts } from '../../services/control-plane/src/organizations/regionHosts.ts';
import { readPages } from '../../services/control-plane/src/pages/pages.ts';
import { SESSION_COOKIE } from '../../services/control-plane/src/routes/cookies.ts';
import {
  type Browser as ApiClient,
  startAccount,
  type TestAccount,
} from '../../services/control-plane/test/startAccount.ts';
import { startPayments, type TestPayments } from '../../services/control-plane/test/startPayments.ts';
import { buildDashboard } from '../buildDashboard.ts';

const { TURNPIKE_TEST_BROWSER: channel = 'chromium' } = process.env;
/** Pictures of every page, for people to look at. */
export const PICTURES = join(import.meta.dirname, '../pictures');
/** Whether pictures are drawn: `PICTURES=1`. They take a build minutes, and nobody looks at them there. */
export const TAKES_PICTURES = process.env.PICTURES === '1';
const TIMEOUT_MS = 60_000;

/**
 * Features of Chromium to leave out: first those that Playwright leaves out, because Chromium reads its last list alone. The last two
 * load two pages for the suggestions of an address bar in each new context, which took half of a context's processor time.
 */
const LEFT_OUT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
];

/** Starts a browser that draws on the processor, because the drivers of a card would be emulated. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: `/usr/bin/${channel}`,
    args: ['--no-sandbox', '--disable-gpu', `--disable-features=${LEFT_OUT.join()}`],
  });

/** The account layer with the dashboard, and a browser. */
export interface Dashboard {
  account: TestAccount;
  /** The payment processor of the account layer. */
  payments: TestPayments;
  /** Errors and reports of every page that was opened. */
  complaints: string[];
  openContext(): Promise<BrowserContext>;
  /** Closes all pages, so that none of them reads on beside the next test. */
  closePages(): Promise<void>;
  /** A page in a new browser, in which the user with this address is signed in and sees the organizations. */
  openAs(address: string): Promise<Page>;
  /** A page as of `openAs`, without content yet, beside a client with the session of the page. */
  openSession(address: string): Promise<{ page: Page; api: ApiClient }>;
  /** The token of a link that signs in, from the mail to this address. */
  mailToken(address: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startDashboard({
  port: given,
  regionHosts = {},
}: {
  port?: number;
  regionHosts?: RegionHosts;
} = {}): Promise<Dashboard> {
  const dist = await buildDashboard(() => undefined);
  const [port = 0] = given === undefined ? await findFreePorts(1) : [given];
  const payments = await startPayments();
  const account = await startAccount({
    ...{ pages: await readPages(dist), port, regionHosts },
    paymentProcessor: payments.settings,
  });
  await payments.sendTo(account.url);
  // Browsers keep a session of `localhost` over plain http, and of no other such address.
  const origin = account.url.replace('127.0.0.1', 'localhost');
  const browser = await launchBrowser();
  await mkdir(PICTURES, { recursive: true });
  const complaints: string[] = [];

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

  async function mailToken(address: string): Promise<string> {
    const before = account.mails.length;
    await account.openBrowser().post('/account/sign-in/link', { address });
    return account.readToken(address, before);
  }

  async function openSession(address: string): Promise<{ page: Page; api: ApiClient }> {
    const context = await openContext();
    const page = await context.newPage();
    const api = account.openBrowser();
    const userAgent = { 'user-agent': await page.evaluate<string>('navigator.userAgent') };
    const token = await mailToken(address);
    await api.send('POST', '/account/sign-in/link/complete', { token }, userAgent);
    const value = api.cookies.get(SESSION_COOKIE) ?? '';
    await context.addCookies([
      { name: SESSION_COOKIE, value, domain: 'localhost', path: '/', secure: true, httpOnly: true, sameSite: 'Lax' },
    ]);
    return { page, api };
  }

  return {
    account,
    payments,
    complaints,
    openContext,
    openSession,
    mailToken,
    async closePages() {
      await Promise.all(browser.contexts().map((context) => context.close()));
    },
    async openAs(address) {
      const { page } = await openSession(address);
      await page.goto('/organizations');
      await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
      return page;
    },
    async stop() {
      await browser.close();
      await account.stop();
      await payments.close();
    },
  };
}

/** Creates an organization from the page of organizations. Returns its id. */
export async function createOrganization(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name: /^(New|Create an) organization$/ }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await page.getByRole('button', { name: 'Create organization' }).click();
  await page.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor();
  return /organizations\/([^/]+)/.exec(page.url())?.[1] ?? '';
}

export async function goTo(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name }).click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
}

/** Reaches a button by Tab, then presses it. */
export async function press(page: Page, name: string): Promise<void> {
  for (let step = 0; step < 30; step += 1) {
    if ((await page.evaluate('document.activeElement.textContent')) === name) return page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${name}`);
}
