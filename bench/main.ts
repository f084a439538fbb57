import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Bench } from './bench.ts';
import { type Figure, formatFigures, isReached, toResult } from './figure.ts';

const FOLDER = new URL('./', import.meta.url);
const RESULTS = new URL('results/', FOLDER);

const USAGE = `npm run bench -- [<bench>[/<part>]…] [--long] [--seed N]

Measures, and ends with an error when a figure is missed. Where none is named all benches run but those that take long or
measure nothing wanted; these are marked below. The figures are kept in bench/results.

  --long     more rows, rounds and sizes
  --seed N   what workloads are made from; 1 where it is not given
  --help     show this`;

/** What the caller got wrong, in one line. */
class UsageError extends Error {}

interface Choice {
  name: string;
  parts: string[];
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
  const { choices, isNamed, seed, isLong, help } = readArguments(process.argv.slice(2));
  if (help) {
    process.stdout.write(`${USAGE}\n\n${(await describeAll()).join('\n')}\n`);
    return 0;
  }
  const figures: Record<string, Figure[]> = {};
  for (const { name, parts } of choices) {
    const bench = await load(name);
    if (bench.isOnRequest && !isNamed) continue;
    const unknown = parts.find((part) => !bench.parts?.includes(part));
    if (unknown !== undefined)
      throw new UsageError(`${name} has no part "${unknown}". It has: ${(bench.parts ?? []).join(', ') || 'none'}.`);
    process.stdout.write(`${name}: ${bench.measures} (seed ${seed})\n\n`);
    const startedAt = performance.now();
    figures[name] = await bench.run({ seed, isLong, parts, progress });
    progress('');
    process.stdout.write(`\n${name}: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n\n`);
  }
  const file = keep(figures);
  for (const [name, ofBench] of Object.entries(figures)) process.stdout.write(`${name}\n${formatFigures(ofBench)}\n`);
  const missed = Object.values(figures)
    .flat()
    .filter((figure) => !isReached(figure));
  const verdict = missed.length === 0 ? 'every figure reached' : `${missed.length} FIGURES MISSED`;
  process.stdout.write(`${verdict}; kept in ${fileURLToPath(file)}\n`);
  return missed.length === 0 ? 0 : 1;
}

/** Writes down the figures, and on what they were measured. */
function keep(figures: Record<string, Figure[]>): URL {
  const at = new Date().toISOString();
  const machine = { processors: availableParallelism(), model: cpus()[0]?.model ?? 'unknown', node: process.version };
  const benches = Object.entries(figures).map(([name, ofBench]) => [name, ofBench.map(toResult)]);
  mkdirSync(RESULTS, { recursive: true });
  const file = new URL(`${at.slice(0, 19).replaceAll(':', '')}.json`, RESULTS);
  const kept = { at, commit: readCommit(), machine, figures: Object.fromEntries(benches) };
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

function readArguments(args: string[]): Arguments {
  const { values, positionals } = parse(args);
  if (!/^\d{1,9}$/.test(values.seed))
    throw new UsageError(`--seed is "${values.seed}", but it has to be a whole number.`);
  const known = listNames();
  const parts = new Map<string, string[]>();
  for (const positional of positionals) {
    const [name = '', part] = positional.split('/');
    if (!known.includes(name))
      throw new UsageError(
        `No bench is called "${name}". There is: ${known.join(', ')}; --help says what they measure.`,
      );
    parts.set(name, [...(parts.get(name) ?? []), ...(part === undefined ? [] : [part])]);
  }
  const isNamed = parts.size > 0;
  if (!isNamed) for (const name of known) parts.set(name, []);
  const choices = [...parts].map(([name, ofBench]) => ({ name, parts: ofBench }));
  return { choices, isNamed, seed: Number(values.seed), isLong: values.long, help: values.help };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        seed: { type: 'string', default: '1' },
        long: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message.split(/\. |\n/)[0] : String(error);
    throw new UsageError(`${problem}. There is --long, --seed N and --help.`, { cause: error });
  }
}

/** On a terminal alone: in a file a line that is written over and over helps nobody. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
process.on('disconnect', () => process.exit(1));
process.stdout.on('error', () => undefined);

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof UsageError ? error.message : (error as Error)?.stack}\n`);
    process.exit(1);
  },
);
