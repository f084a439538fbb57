import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readArguments, readCount, runCommand } from '@turnpike/local-stack/runCommand';
import { StackError } from '@turnpike/local-stack/stackError';
import type { Bench } from './bench.ts';
import { createStopwatch } from './createStopwatch.ts';
import { type Figure, formatFigures, isReached, toResult } from './figure.ts';

const FOLDER = new URL('./', import.meta.url);
const RESULTS = new URL('results/', FOLDER);

const USAGE = `npm run bench -- [<bench>[/<part>]…] [--long] [--seed N]

Measures, and ends with an error when a figure is missed. Where none is named all benches run but those that measure nothing
wanted; these are marked below. That is made to take less than ten minutes on two cores that do nothing else, and some more
the first time, when other gateways, nginx and Kafka are installed. The figures are kept in bench/results.

  --long     more rows, rounds and sizes: ten million rows, 100,000 keys, every size of each curve; an hour and more
  --seed N   what workloads are made from; 1 where it is not given
  --help     show this`;

interface Choice {
  name: string;
  parts: string[];
}

interface LoadedChoice extends Choice {
  bench: Bench;
}

/** Results of each bench. Seconds are of each step (`bench/step`), and of a bench as a whole (`all/bench`). */
interface Results {
  figures: Record<string, Figure[]>;
  seconds: Record<string, number>;
}

interface Arguments {
  choices: Choice[];
  /** Whether somebody named them; all there are otherwise. */
  isNamed: boolean;
  seed: number;
  isLong: boolean;
  help: boolean;
}

/** `npm run bench`: runs the named benches one after the other, and prints all figures at the end. */
async function main(): Promise<number> {
  const { choices, isNamed, seed, isLong, help } = readChoices(process.argv.slice(2));
  if (help) {
    process.stdout.write(`${USAGE}\n\n${(await describeAll()).join('\n')}\n`);
    return 0;
  }
  const loaded = await Promise.all(choices.map(async (choice) => ({ ...choice, bench: await load(choice.name) })));
  const chosen = loaded.filter(({ bench }) => isNamed || !bench.isOnRequest);
  for (const { name, parts, bench } of chosen) {
    const unknown = parts.find((part) => !bench.parts?.includes(part));
    if (unknown !== undefined)
      throw new StackError(`${name} has no part "${unknown}". It has: ${(bench.parts ?? []).join(', ') || 'none'}.`);
  }
  const { figures, seconds } = await runAll(chosen, { seed, isLong });
  const file = keep({ figures, seconds });
  process.stdout.write(`${formatSeconds(seconds)}\n`);
  for (const [name, ofBench] of Object.entries(figures)) process.stdout.write(`${name}\n${formatFigures(ofBench)}\n`);
  const missed = Object.values(figures)
    .flat()
    .filter((figure) => !isReached(figure));
  const verdict = missed.length === 0 ? 'every figure reached' : `${missed.length} FIGURES MISSED`;
  process.stdout.write(`${verdict}; kept in ${fileURLToPath(file)}\n`);
  return missed.length === 0 ? 0 : 1;
}

async function runAll(chosen: LoadedChoice[], how: Pick<Arguments, 'seed' | 'isLong'>): Promise<Results> {
  const figures: Results['figures'] = {};
  const seconds: Results['seconds'] = {};
  const stopwatch = createStopwatch('all', seconds);
  for (const { name, parts, bench } of chosen) {
    process.stdout.write(`${name}: ${bench.measures} (seed ${how.seed})\n\n`);
    const options = { ...how, parts, progress, ...createStopwatch(name, seconds) };
    figures[name] = await stopwatch.measure(name, () => bench.run(options));
    progress('');
    process.stdout.write(`\n${name}: ${seconds[`all/${name}`]} s\n\n`);
  }
  return { figures, seconds };
}

/** Formats the time of each bench with its parts, the longest first. */
function formatSeconds(seconds: Record<string, number>): string {
  const all = Object.entries(seconds);
  const lines = all.flatMap(([name, ofBench]) => {
    const [group, bench = ''] = name.split('/');
    if (group !== 'all') return [];
    const parts = all.filter(([part]) => part.startsWith(`${bench}/`)).sort(([, a], [, b]) => b - a);
    const cells = parts.map(([part, ofPart]) => `${part.slice(bench.length + 1)} ${ofPart}`);
    return `  ${bench.padEnd(10)}${ofBench.toFixed(1).padStart(7)} s   ${cells.join(', ')}`.trimEnd();
  });
  return ['seconds', ...lines, ''].join('\n');
}

/** Writes down the figures, on what they were measured, and how long it took. */
function keep({ figures, seconds }: Results): URL {
  const at = new Date().toISOString();
  const machine = { processors: availableParallelism(), model: cpus()[0]?.model ?? 'unknown', node: process.version };
  const benches = Object.entries(figures).map(([name, ofBench]) => [name, ofBench.map(toResult)]);
  mkdirSync(RESULTS, { recursive: true });
  const file = new URL(`${at.slice(0, 19).replaceAll(':', '')}.json`, RESULTS);
  const kept = { at, commit: readCommit(), machine, seconds, figures: Object.fromEntries(benches) };
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
  return file;
}

function readCommit(): string | null {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { cwd: FOLDER, encoding: 'utf8' }).trim();
  } catch {
    return null; // an unpacked copy
  }
}

const listNames = (): string[] =>
  readdirSync(FOLDER)
    .filter((name) => existsSync(new URL(`${name}/bench.ts`, FOLDER)))
    .sort();

const describeAll = (): Promise<string[]> =>
  Promise.all(
    listNames().map(async (name) => {
      const { measures, isOnRequest, parts = [] } = await load(name);
      return `  ${name.padEnd(10)} ${measures}${isOnRequest ? ' (only where it is named)' : ''}${parts.length === 0 ? '' : `; parts: ${parts.join(', ')}`}`;
    }),
  );

async function load(name: string): Promise<Bench> {
  const { bench } = (await import(new URL(`${name}/bench.ts`, FOLDER).href)) as { bench: Bench };
  return bench;
}

function readChoices(args: string[]): Arguments {
  const options = {
    seed: { type: 'string', default: '1' },
    long: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  const hint = 'There is --long, --seed N and --help.';
  const { values, positionals } = readArguments({ args, allowPositionals: true, options }, hint);
  const seed = readCount('--seed', values.seed, { from: 0, to: 999_999_999 });
  const known = listNames();
  const parts = new Map<string, string[]>();
  for (const positional of positionals) {
    const [name = '', part] = positional.split('/');
    if (!known.includes(name))
      throw new StackError(
        `No bench is called "${name}". There is: ${known.join(', ')}; --help says what they measure.`,
      );
    parts.set(name, [...(parts.get(name) ?? []), ...(part === undefined ? [] : [part])]);
  }
  const isNamed = parts.size > 0;
  if (!isNamed) for (const name of known) parts.set(name, []);
  const choices = [...parts].map(([name, ofBench]) => ({ name, parts: ofBench }));
  return { choices, isNamed, seed, isLong: values.long, help: values.help };
}

/** On a terminal alone: in a file a line that is written over and over helps nobody. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
runCommand(main);
