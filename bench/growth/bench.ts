import { mkdir, writeFile } from 'node:fs/promises';
import type { Bench } from '../bench.ts';
import { print } from '../calls/rounds.ts';
import { type Figure, toDigits } from '../figure.ts';
import { median } from '../median.ts';
import { type Curve, type Line, toFigures, toSize } from './curve.ts';
import { engines } from './curves/engines.ts';
import { keys } from './curves/keys.ts';
import { ledgers } from './curves/ledgers.ts';
import { routers } from './curves/routers.ts';
import { rows } from './curves/rows.ts';
import { streams } from './curves/streams.ts';
import { type GrowthStack, startGrowthStack } from './startGrowthStack.ts';

/** In the order in which they run: on the one of the others fresh processes come first, and further routers last. */
const CURVES: readonly Curve[] = [rows, streams, keys, engines, routers, ledgers];
const RESULTS = new URL('../results/', import.meta.url);
const ROUNDS = 3;
const LONG_ROUNDS = 5;

/** How cost grows with what there is more of: a curve each, as JSON in `bench/results`. */
export const bench: Bench = {
  measures: 'how cost grows with keys, engines, open streams, rows, routers and ledgers',
  parts: CURVES.map(({ name }) => name),
  async run({ parts, isLong, progress, timed, measure }) {
    const figures: Figure[] = [];
    // Kafka is started for one curve alone.
    const isShort = parts.length === 0 && !isLong;
    const chosen = CURVES.filter((curve) =>
      isShort ? curve !== ledgers : parts.length === 0 || parts.includes(curve.name),
    );
    let running: GrowthStack | undefined;
    const stop = async (): Promise<void> => {
      const ended = running;
      running = undefined;
      await ended?.stop();
    };
    const startStack = async ({ kafka = false } = {}): Promise<GrowthStack> => {
      if (running && !isLong && !kafka) return running;
      await stop();
      running = await timed(kafka ? 'start with Kafka' : 'start', () => startGrowthStack({ kafka, progress }));
      return running;
    };
    try {
      for (const { name, title, measure: measureCurve } of chosen) {
        const plot = async (): Promise<Figure[]> => {
          const lines = await measureCurve({ rounds: isLong ? LONG_ROUNDS : ROUNDS, isLong, progress, startStack });
          await keep({ name, title, lines });
          return toFigures(name, lines);
        };
        figures.push(...(await measure(name, plot)));
      }
    } finally {
      await stop();
    }
    return figures;
  },
};

/** Prints a curve's points, and writes them. */
async function keep(curve: Pick<Curve, 'name' | 'title'> & { lines: Line[] }): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  await writeFile(new URL(`growth-${curve.name}.json`, RESULTS), `${JSON.stringify(curve, null, 2)}\n`);
  print(`${curve.title} (bench/results/growth-${curve.name}.json)`);
  for (const { name, unit, points } of curve.lines) {
    const cells = points.map(({ size, rounds }) => `${toSize(size)}: ${toDigits(median(rounds))}`);
    print(`  ${name.padEnd(38)} ${unit.padEnd(4)} ${cells.join('   ')}`);
  }
  print('');
}
