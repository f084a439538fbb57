import {
  CREDIT,
  type OpenWorkspace,
  type RegionalDashboard,
  startRegionalDashboard,
} from '../../dashboard/test/startRegion.ts';
import type { Bench } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { median } from '../median.ts';

const SLOWDOWN = 4;
const MOST_PAINT_MS = 1_500;
const MOST_INTERACTION_MS = 200;
const ROUNDS = { short: 3, long: 9 };
/** A slow processor that others use too takes minutes for a page. */
const TIMEOUT_MS = 180_000;
const KEYS = 10_000;
const DAY_MS = 86_400_000;

type Page = OpenWorkspace['page'];
type BrowserContext = ReturnType<Page['context']>;

/** A page, what shows that its content is there, and a click on it. */
interface Visit {
  name: string;
  path: string;
  untilShown: (page: Page) => Promise<void>;
  click: (page: Page) => Promise<void>;
}

/** Pages of the dashboard in Chromium whose processor is slowed down. */
export const bench: Bench = {
  measures: `largest paint and a click on pages of the dashboard, in Chromium with a processor slowed ${SLOWDOWN} times`,
  isOnRequest: true,
  async run({ progress, isLong, timed }) {
    progress('starting the parts behind the pages');
    const dashboard = await timed('start', startRegionalDashboard);
    try {
      dashboard.setCredit(CREDIT);
      const { page, path, workspaceId } = await dashboard.openWorkspace('ann@example.com');
      await dashboard.registerMany(workspaceId, KEYS);
      await dashboard.recordYear(workspaceId);
      const state = await page.context().storageState();
      await dashboard.closePages();
      const figures: Figure[] = [];
      for (const visit of listVisits(path)) {
        const paints: number[] = [];
        const interactions: number[] = [];
        const floor: number[] = [];
        for (let round = 0; round < ROUNDS[isLong ? 'long' : 'short']; round += 1) {
          progress(`${visit.name}, round ${round + 1}`);
          const { paintMs, interactionMs } = await measure(dashboard, state, visit);
          paints.push(paintMs);
          interactions.push(interactionMs);
          floor.push((await measure(dashboard, state, BARE)).paintMs);
        }
        figures.push(
          { name: `${visit.name}: largest paint`, rounds: paints, unit: 'ms', atMost: MOST_PAINT_MS, floor },
          { name: `${visit.name}: a click`, rounds: interactions, unit: 'ms', atMost: MOST_INTERACTION_MS },
        );
      }
      process.stdout.write(
        `  baseline: a page of one text without script, ${median(figures[0]?.floor ?? []).toFixed(0)} ms\n`,
      );
      return figures;
    } finally {
      await dashboard.stop();
    }
  },
};

/** A page of one line. */
const BARE: Visit = {
  name: 'bare',
  path: '/assets/none',
  untilShown: async () => undefined,
  click: (page) => page.mouse.click(5, 5),
};

function listVisits(path: string): Visit[] {
  const [from, to] = [365, 0].map((days) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10));
  return [
    {
      name: 'sign-in',
      path: '/sign-in',
      untilShown: (page) => page.getByLabel('E-mail address').waitFor(),
      click: (page) => page.getByRole('button', { name: 'Mail me a link' }).click(),
    },
    {
      name: 'Overview',
      path,
      untilShown: (page) => page.getByRole('region', { name: 'First call' }).first().getByLabel('Language').waitFor(),
      click: (page) => page.getByRole('button', { name: 'Dark mode' }).click(),
    },
    {
      name: `Keys, ${KEYS} of them`,
      path: `${path}/keys`,
      untilShown: (page) => page.getByText('1 to 50 of ').waitFor(),
      click: (page) => page.getByRole('button', { name: 'Next' }).click(),
    },
    {
      name: 'Usage of a year',
      path: `${path}/usage?range=custom&from=${from}&to=${to}`,
      untilShown: (page) => page.getByText('42 others').first().waitFor(),
      click: (page) => page.getByRole('button', { name: 'Earlier' }).click(),
    },
  ];
}

/** Visits a page in a new browser without cached files. */
async function measure(
  dashboard: RegionalDashboard,
  { cookies }: Awaited<ReturnType<BrowserContext['storageState']>>,
  { path, untilShown, click }: Visit,
): Promise<{ paintMs: number; interactionMs: number }> {
  const context = await dashboard.openContext();
  try {
    await context.addCookies(cookies);
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    const client = await context.newCDPSession(page);
    await client.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
    await page.addInitScript(OBSERVE);
    await page.goto(path);
    await untilShown(page);
    await page.waitForLoadState('networkidle');
    const paintMs = await page.evaluate<number>('window.largestPaintMs');
    await click(page);
    // An entry comes with the frame after the event.
    const interactionMs = await page.evaluate<number>(LONGEST_EVENT);
    return { paintMs, interactionMs };
  } finally {
    await context.close();
  }
}

const OBSERVE = `
  window.largestPaintMs = NaN;
  window.longestEventMs = 0;
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) window.largestPaintMs = startTime;
  }).observe({ type: 'largest-contentful-paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const { duration, interactionId } of list.getEntries())
      if (interactionId > 0) window.longestEventMs = Math.max(window.longestEventMs, duration);
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });`;

/** The duration of the longest event of an interaction. One below the threshold of the browser counts as 16 ms. */
const LONGEST_EVENT = `new Promise((resolve) =>
  requestAnimationFrame(() => setTimeout(() => resolve(window.longestEventMs || 16), 500)))`;
