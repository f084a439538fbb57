import {
  CREDIT,
  type OpenWorkspace,
  type RegionalDashboard,
  startRegionalDashboard,
} from '../../dashboard/test/startRegion.ts';
import type { Bench } from '../bench.ts';
import type { Figure } from '../figure.ts';

const SLOWDOWN = 4;
const MOST_PAINT_MS = 1_500;
const MOST_INTERACTION_MS = 200;
const MOST_ANSWER_MS = 500;
const MOST_DRAWN_MS = 100;
const ROUNDS = { short: 3, long: 9 };
/** A slow processor that others use too takes minutes for a page. */
const TIMEOUT_MS = 180_000;
const KEYS = 10_000;
const DAY_MS = 86_400_000;

type Page = OpenWorkspace['page'];
type BrowserContext = ReturnType<Page['context']>;

/** The pages, and the answers and drawings of a year. */
const PARTS = ['sign-in', 'overview', 'keys', 'usage', 'year'] as const;

/** A page, what shows that its content is there, and a click on it. */
interface Visit {
  part: (typeof PARTS)[number];
  name: string;
  path: string;
  untilShown: (page: Page) => Promise<void>;
  click: (page: Page) => Promise<void>;
}

/** Pages of the dashboard in Chromium whose processor is slowed down. */
export const bench: Bench = {
  measures: `largest paint and a click on pages of the dashboard, in Chromium with a processor slowed ${SLOWDOWN} times, and a year of usage without`,
  isOnRequest: true,
  parts: PARTS,
  async run({ parts, progress, isLong, timed }) {
    progress('starting the parts behind the pages');
    const dashboard = await timed('start', startRegionalDashboard);
    try {
      dashboard.setCredit(CREDIT);
      const { page, path, workspaceId } = await dashboard.openWorkspace('ann@example.com');
      await dashboard.registerMany(workspaceId, KEYS);
      await dashboard.recordYear(workspaceId);
      const state = await page.context().storageState();
      await dashboard.closePages();
      const rounds = ROUNDS[isLong ? 'long' : 'short'];
      const isWanted = (part: string) => parts.length === 0 || parts.includes(part);
      const figures: Figure[] = [];
      for (const visit of listVisits(path)) {
        if (!isWanted(visit.part)) continue;
        const paints: number[] = [];
        const changes: number[] = [];
        const interactions: number[] = [];
        const floor: number[] = [];
        for (let round = 0; round < rounds; round += 1) {
          progress(`${visit.name}, round ${round + 1}`);
          const { paintMs, changeMs, interactionMs } = await measure(dashboard, state, visit);
          paints.push(paintMs);
          changes.push(changeMs);
          interactions.push(interactionMs);
          floor.push((await measure(dashboard, state, BARE)).paintMs);
        }
        figures.push(
          { name: `${visit.name}: largest paint`, rounds: paints, unit: 'ms', atMost: MOST_PAINT_MS, floor },
          { name: `${visit.name}: last change of the loaded page`, rounds: changes, unit: 'ms' },
          { name: `${visit.name}: a click`, rounds: interactions, unit: 'ms', atMost: MOST_INTERACTION_MS },
        );
      }
      if (isWanted('year')) figures.push(...(await measureYear(dashboard, state, path, { rounds, progress })));
      return figures;
    } finally {
      await dashboard.stop();
    }
  },
};

/** A page of one line. */
const BARE: Omit<Visit, 'part' | 'name'> = {
  path: '/assets/none',
  untilShown: async () => undefined,
  click: (page) => page.mouse.click(5, 5),
};

function listVisits(path: string): Visit[] {
  return [
    {
      part: 'sign-in',
      name: 'sign-in',
      path: '/sign-in',
      untilShown: (page) => page.getByLabel('E-mail address').waitFor(),
      click: (page) => page.getByRole('button', { name: 'Mail me a link' }).click(),
    },
    {
      part: 'overview',
      name: 'Overview',
      path,
      untilShown: (page) => page.getByRole('region', { name: 'First call' }).first().getByLabel('Language').waitFor(),
      click: (page) => page.getByRole('button', { name: 'Dark mode' }).click(),
    },
    {
      part: 'keys',
      name: `Keys, ${KEYS} of them`,
      path: `${path}/keys`,
      untilShown: (page) => page.getByText('1 to 50 of ').waitFor(),
      click: (page) => page.getByRole('button', { name: 'Next' }).click(),
    },
    {
      part: 'usage',
      name: 'Usage of a year',
      path: toYearPath(path, 'model'),
      untilShown: (page) => page.getByText('42 others').first().waitFor(),
      click: (page) => page.getByRole('button', { name: 'Earlier' }).click(),
    },
  ];
}

const SPLITS = { model: 'Model', key: 'Key', 'key,model': 'Model and key' };

/** The path of the page that shows a year. */
function toYearPath(path: string, split: string): string {
  const [from, to] = [365, 0].map((days) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10));
  return `${path}/usage?range=custom&from=${from}&to=${to}&split=${encodeURIComponent(split)}`;
}

/** Splits the year of an open page anew. Measures the answer, and the time from its end to the frame that shows chart and table. */
async function measureYear(
  dashboard: RegionalDashboard,
  { cookies }: SignedIn,
  path: string,
  { rounds, progress }: { rounds: number; progress: (text: string) => void },
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [split, label] of Object.entries(SPLITS)) {
    const answers: number[] = [];
    const drawn: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      progress(`a year by ${split}, round ${round + 1}`);
      const context = await dashboard.openContext();
      await context.addCookies(cookies);
      const page = await context.newPage();
      await page.goto(toYearPath(path, split === 'model' ? 'key' : 'model'));
      await page
        .getByText(/^\d+ others$/)
        .first()
        .waitFor();
      await page.waitForLoadState('networkidle');
      const measured = page.evaluate<{ answerMs: number; drawnMs: number }>(toDrawn(label.toLowerCase()));
      await page.getByLabel('Split by', { exact: true }).selectOption(split);
      const { answerMs, drawnMs } = await measured;
      answers.push(answerMs);
      drawn.push(drawnMs);
      await context.close();
    }
    figures.push(
      { name: `a year by ${label.toLowerCase()}: answer`, rounds: answers, unit: 'ms', atMost: MOST_ANSWER_MS },
      { name: `a year by ${label.toLowerCase()}: drawn`, rounds: drawn, unit: 'ms', atMost: MOST_DRAWN_MS },
    );
  }
  return figures;
}

/** Looks at each frame for the chart and the table of a split whose answer comes from now on. */
const toDrawn = (label: string): string => `(() => {
  const since = performance.now();
  const findAnswer = () => performance.getEntriesByType('resource')
    .find(({ name, startTime }) => startTime > since && name.includes('/console/usage?') && name.includes('top='));
  return new Promise((resolve) => {
    const look = () => requestAnimationFrame(() => {
      const answer = findAnswer();
      const isDrawn = answer && document.querySelector('figure[aria-label$="and ${label}"] .chart-bars path')
        && document.querySelector('section[aria-label=Usage] tbody tr');
      if (!isDrawn) return look();
      setTimeout(() => resolve({ answerMs: answer.duration, drawnMs: performance.now() - answer.responseEnd }));
    });
    look();
  });
})()`;

type SignedIn = Awaited<ReturnType<BrowserContext['storageState']>>;

/** Visits a page in a new browser without cached files. */
async function measure(
  dashboard: RegionalDashboard,
  { cookies }: SignedIn,
  { path, untilShown, click }: Omit<Visit, 'part' | 'name'>,
): Promise<{ paintMs: number; changeMs: number; interactionMs: number }> {
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
    const changeMs = await page.evaluate<number>('window.lastChangeMs');
    await click(page);
    // An entry comes with the frame after the event.
    const interactionMs = await page.evaluate<number>(LONGEST_EVENT);
    return { paintMs, changeMs, interactionMs };
  } finally {
    await context.close();
  }
}

const OBSERVE = `
  window.largestPaintMs = NaN;
  window.longestEventMs = 0;
  window.lastChangeMs = NaN;
  new MutationObserver(() => (window.lastChangeMs = performance.now()))
    .observe(document, { childList: true, characterData: true, subtree: true });
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
