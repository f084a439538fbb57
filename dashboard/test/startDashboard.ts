import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { describe, expect } from '@jest/globals';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findFreePorts } from '../../deploy/local/src/findFreePorts.ts';
import { until } from '../../libs/test-support/src/until.ts';
import type { RegionHosts } from '../../services/control-plane/src/organizations/regionHosts.ts';
import { readPages } from '../../services/control-plane/src/pages/pages.ts';
import { startAccount, type TestAccount } from '../../services/control-plane/test/startAccount.ts';
import { buildDashboard } from '../buildDashboard.ts';

const { TURNPIKE_TEST_BROWSER: channel } = process.env;
/** Pictures of every page, for people to look at. */
const PICTURES = join(import.meta.dirname, '../pictures');
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const TIMEOUT_MS = 60_000;
const SIZES = [
  ['small', 320],
  ['large', 1_440],
  ['huge', 2_560],
] as const;
/** Lists the elements whose content is wider than they are, unless they scroll or cut it. */
const LIST_SPILLING = `[...document.querySelectorAll('html, body, body *')]
  .filter((element) => element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1)
  .filter((element) => element.localName === 'html' || getComputedStyle(element).overflowX === 'visible')
  .map((element) => element.localName + '.' + element.className)`;

/** `describe` where there is a browser. */
export const inBrowser = channel === undefined ? describe.skip : describe;

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: `/usr/bin/${channel}`, args: ['--no-sandbox'] });

/** The account layer with the dashboard, and a browser. */
export interface Dashboard {
  account: TestAccount;
  /** Errors and reports of every page that was opened. */
  complaints: string[];
  openContext(): Promise<BrowserContext>;
  /** A page in a new browser, in which the user with this address is signed in. */
  openAs(address: string): Promise<Page>;
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
  const account = await startAccount({ pages: await readPages(dist), port, regionHosts });
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

  return {
    account,
    complaints,
    openContext,
    mailToken,
    async openAs(address) {
      const page = await (await openContext()).newPage();
      await page.goto(`/sign-in#${await mailToken(address)}`);
      await page.getByRole('button', { name: 'Sign in now' }).click();
      await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
      return page;
    },
    async stop() {
      await browser.close();
      await account.stop();
    },
  };
}

/** Returns the id of the new organization. */
export async function createOrganization(page: Page, name: string): Promise<string> {
  await page.goto('/organizations');
  await page.getByRole('button', { name: /^(New|Create an) organization$/ }).click();
  await page.getByLabel('Name').fill(name);
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

export type Theme = 'light' | 'dark';
export const THEMES: Theme[] = ['light', 'dark'];

/** Checks pages in one theme. */
export interface Eyes {
  colorScheme: Theme;
  look(page: Page, path: string, name: string): Promise<void>;
  check(page: Page, name: string): Promise<void>;
}

export const openEyes = (colorScheme: Theme, options: { arePictured?: boolean } = {}): Eyes => ({
  colorScheme,
  look: (page, path, name) => look(page, path, name, options),
  check: (page, name) => check(page, name, options),
});

/** Opens a page and checks it. */
export async function look(page: Page, path: string, name: string, options = {}): Promise<void> {
  // A page whose path differs in the part behind `#` alone is not loaded anew.
  await page.goto('about:blank');
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  await check(page, name, options);
}

/** Checks the page by axe and for content that is wider than its place. Leaves pictures of it unless `arePictured` is false. */
export async function check(page: Page, name: string, { arePictured = true } = {}): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(WCAG).analyze();
  expect(violations.map(({ id, nodes }) => ({ name, id, where: nodes.map(({ html }) => html) }))).toEqual([]);
  const isDark = await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches');
  for (const [size, width] of SIZES) {
    await page.setViewportSize({ width, height: 900 });
    const picture = `${name}-${isDark ? 'dark' : 'light'}-${size}.png`;
    if (arePictured) await page.screenshot({ fullPage: true, path: join(PICTURES, picture) });
    // A chart follows its width a frame later.
    let spilling: unknown;
    const fits = async () => {
      spilling = await page.evaluate(LIST_SPILLING);
      return (spilling as string[]).length === 0;
    };
    await until('the layout', fits, 2_000).catch(() =>
      expect({ name, size, spilling }).toEqual({ name, size, spilling: [] }),
    );
  }
}
