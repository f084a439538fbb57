import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { NoFigure } from '../calls/measureCost.ts';
import { print } from '../calls/rounds.ts';
import { type Figure, toDigits } from '../figure.ts';
import { median } from '../median.ts';
import type { Curve, CurveContext } from './curve.ts';
import { engines } from './curves/engines.ts';
import { keys } from './curves/keys.ts';
import { ledgers } from './curves/ledgers.ts';
import { models } from './curves/models.ts';
import { routers } from './curves/routers.ts';
import { rows } from './curves/rows.ts';
import { streams } from './curves/streams.ts';
import { drawPlot } from './drawPlot.ts';
import { type Plot, toFigures, toSize } from './plot.ts';
import { type GrowthStack, startGrowthStack } from './startGrowthStack.ts';

const CURVES: readonly Curve[] = [keys, models, engines, streams, rows, routers, ledgers];
const RESULTS = new URL('../results/', import.meta.url);
const ROUNDS = 3;
const LONG_ROUNDS = 5;

/** How cost grows with what there is more of: a curve each, drawn and as JSON in `bench/results`. */
export const bench: Bench = {
  isOnRequest: true,
  measures: 'how cost grows with keys, models, engines, open streams, rows, routers and ledgers; a plot of each',
  parts: CURVES.map(({ name }) => name),
  async run({ parts, isLong, progress }) {
    const figures: Figure[] = [];
    for (const curve of CURVES.filter(({ name }) => parts.length === 0 || parts.includes(name))) {
      const options = { rounds: isLong ? LONG_ROUNDS : ROUNDS, isLong, progress };
      figures.push(...(await measureOne(curve, options)));
    }
    return figures;
  },
};

/** A curve that could not be measured is a figure that is missing, and the others go on. */
async function measureOne(curve: Curve, options: Omit<CurveContext, 'startStack'>): Promise<Figure[]> {
  const dir = await mkdtemp(join(tmpdir(), 'turnpike-bench-'));
  const started: GrowthStack[] = [];
  try {
    const plots = await curve.measure({
      ...options,
      async startStack({ kafka = false } = {}) {
        const stack = await startGrowthStack(dir, { kafka, progress: options.progress });
        started.push(stack);
        return stack;
      },
    });
    for (const plot of plots) await keep(plot);
    return plots.flatMap(toFigures);
  } catch (error) {
    if (!(error instanceof NoFigure)) throw error;
    return [{ name: curve.name, rounds: [], refusal: error.message }];
  } finally {
    for (const stack of started) await stack.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** Prints a plot's points, and writes them and the drawing of them. */
async function keep(plot: Plot): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  await writeFile(new URL(`growth-${plot.name}.json`, RESULTS), `${JSON.stringify(plot, null, 2)}\n`);
  await writeFile(new URL(`growth-${plot.name}.svg`, RESULTS), drawPlot(plot));
  print(`${plot.title} (bench/results/growth-${plot.name}.svg)`);
  for (const { name, unit, points } of plot.lines) {
    const cells = points.map(({ size, rounds }) => `${toSize(size)}: ${toDigits(median(rounds))}`);
    print(`  ${name.padEnd(38)} ${unit.padEnd(4)} ${cells.join('   ')}`);
  }
  print('');
}
