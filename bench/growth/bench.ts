import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { print } from '../calls/rounds.ts';
import { type Figure, toDigits } from '../figure.ts';
import { median } from '../median.ts';
import type { Curve } from './curve.ts';
import { engines } from './curves/engines.ts';
import { keys } from './curves/keys.ts';
import { ledgers } from './curves/ledgers.ts';
import { routers } from './curves/routers.ts';
import { rows } from './curves/rows.ts';
import { streams } from './curves/streams.ts';
import { type Plot, toFigures, toSize } from './plot.ts';
import { type GrowthStack, startGrowthStack } from './startGrowthStack.ts';

/** In the order in which they run: rows need no stack; on the one of the others fresh processes come first, and further routers last. */
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
    const stacks = keepStacks(!isLong, (dir, kafka) =>
      timed(kafka ? 'start with Kafka' : 'start', () => startGrowthStack(dir, { kafka, progress })),
    );
    // Kafka is started for one curve alone.
    const isShort = parts.length === 0 && !isLong;
    const chosen = CURVES.filter((curve) =>
      isShort ? curve !== ledgers : parts.length === 0 || parts.includes(curve.name),
    );
    const isWanted = !isLong && chosen.some((curve) => curve !== rows && curve !== ledgers);
    const context = {
      rounds: isLong ? LONG_ROUNDS : ROUNDS,
      isLong,
      progress,
      startStack: stacks.start,
      // A caller that needs the stack tries again, and reports the problem.
      startMeanwhile: async () => void (isWanted && (await stacks.start().catch(() => undefined))),
    };
    try {
      for (const curve of chosen) {
        const plot = async (): Promise<Figure[]> => {
          const plots = await curve.measure(context);
          for (const one of plots) await keep(one);
          return plots.flatMap(toFigures);
        };
        figures.push(...(await measure(curve.name, plot)));
      }
    } finally {
      await stacks.stop();
    }
    return figures;
  },
};

/** Starts stacks one at a time: what runs is ended before another starts, unless it is of the same kind and `isShared`. */
function keepStacks(isShared: boolean, start: (dir: string, kafka: boolean) => Promise<GrowthStack>) {
  let running: { kafka: boolean; stack: GrowthStack; dir: string } | undefined;
  const stop = async (): Promise<void> => {
    if (!running) return;
    const { stack, dir } = running;
    running = undefined;
    await stack.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  return {
    stop,
    async start({ kafka = false }: { kafka?: boolean } = {}): Promise<GrowthStack> {
      if (running && isShared && running.kafka === kafka) return running.stack;
      await stop();
      const dir = await mkdtemp(join(tmpdir(), 'turnpike-bench-'));
      try {
        const stack = await start(dir, kafka);
        running = { kafka, dir, stack };
        return stack;
      } catch (error) {
        await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
        throw error;
      }
    },
  };
}

/** Prints a plot's points, and writes them. */
async function keep(plot: Plot): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  await writeFile(new URL(`growth-${plot.name}.json`, RESULTS), `${JSON.stringify(plot, null, 2)}\n`);
  print(`${plot.title} (bench/results/growth-${plot.name}.json)`);
  for (const { name, unit, points } of plot.lines) {
    const cells = points.map(({ size, rounds }) => `${toSize(size)}: ${toDigits(median(rounds))}`);
    print(`  ${name.padEnd(38)} ${unit.padEnd(4)} ${cells.join('   ')}`);
  }
  print('');
}
