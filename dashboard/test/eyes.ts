import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';
import { until } from '../../libs/test-support/src/until.ts';
import { PICTURES, TAKES_PICTURES } from './startDashboard.ts';

/** The short form, because each page that is loaded has to read it. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
/** The rules of these tags whose result depends on colours or on the width of the window. */
const RULES_OF_LOOKS = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'];
const HEIGHT = 900;
const SIZES = { small: 320, large: 1_440, huge: 2_560 };
/** Lists the elements whose content is wider than they are, unless they scroll or cut it. */
const LIST_SPILLING = `[...document.querySelectorAll('html, body, body *')]
  .filter((element) => element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1)
  .filter((element) => element.localName === 'html' || getComputedStyle(element).overflowX === 'visible')
  .map((element) => element.localName + '.' + element.className)`;

type Theme = 'light' | 'dark';
export const THEMES: Theme[] = ['light', 'dark'];

/** Checks pages in both themes, and leaves pictures of them where these are wanted. */
export class Eyes {
  /** Opens a page and checks it. */
  async look(page: Page, path: string, name: string): Promise<void> {
    // A page whose path differs in the part behind `#` alone is not loaded anew.
    if (path.includes('#')) await page.goto('about:blank');
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    await this.check(page, name);
  }

  /**
   * Checks the page by axe and for content that is wider than its place, in its theme and then in the other one. The page stays in the
   * other theme, so that the next page loads in that one.
   */
  async check(page: Page, name: string): Promise<void> {
    const theme = await readTheme(page);
    const other = theme === 'light' ? 'dark' : 'light';
    await page.setViewportSize({ width: SIZES.large, height: HEIGHT });
    await expectNoFaults(page, name, { type: 'tag', values: WCAG });
    for (const size of ['large', 'huge', 'small'] as const) await this.#checkSize(page, name, theme, size);
    await setTheme(page, other);
    await expectNoFaults(page, name, { type: 'rule', values: RULES_OF_LOOKS });
    for (const size of ['small', 'large'] as const) await this.#checkSize(page, name, other, size);
  }

  async #checkSize(page: Page, name: string, theme: Theme, size: keyof typeof SIZES): Promise<void> {
    await page.setViewportSize({ width: SIZES[size], height: HEIGHT });
    const picture = join(PICTURES, `${name}-${theme}-${size}.png`);
    if (TAKES_PICTURES) await page.screenshot({ fullPage: true, path: picture });
    // A chart follows its width a frame later.
    let spilling: unknown;
    const fits = async () => {
      spilling = await page.evaluate(LIST_SPILLING);
      return (spilling as string[]).length === 0;
    };
    await until('the layout', fits).catch(() =>
      expect({ name, size, theme, spilling }).toEqual({ name, size, theme, spilling: [] }),
    );
  }
}

const readTheme = (page: Page): Promise<Theme> =>
  page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"');

/** Settles after the last animation that ends. */
const TRANSITIONS = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime < Infinity)
  .map(({ finished }) => finished))`;

/** Changes the theme of the system, and waits for the last transition to its colours. */
export async function setTheme(page: Page, colorScheme: Theme): Promise<void> {
  await page.emulateMedia({ colorScheme });
  const attribute = 'data-mantine-color-scheme';
  await page.locator(`html[${attribute}=${colorScheme}], html:not([${attribute}])`).waitFor();
  await page.evaluate(TRANSITIONS);
}

/** Runs rules of axe over the page. */
async function expectNoFaults(page: Page, name: string, runOnly: axe.RunOnly): Promise<void> {
  const theme = await readTheme(page);
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
  const options: axe.RunOptions = { runOnly, resultTypes: ['violations'] };
  const faults = await page.evaluate(`axe.run(${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html) })))`);
  expect({ name, theme, faults }).toEqual({ name, theme, faults: [] });
}
