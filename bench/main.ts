import { existsSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Bench } from './bench.ts';

const FOLDER = new URL('./', import.meta.url);

const USAGE = `npm run bench -- [<bench>…] [--seed N]

Measures, and ends with an error when a figure is missed. All benches run where none is named.

  --seed N   what workloads are made from; 1 where it is not given
  --help     show this`;

/** What the caller got wrong, in one line. */
class UsageError extends Error {}

/** `npm run bench`: runs the named benches one after the other. */
async function main(): Promise<number> {
  const { names, seed, help } = readArguments(process.argv.slice(2));
  if (help) {
    process.stdout.write(`${USAGE}\n\n${(await describeAll()).join('\n')}\n`);
    return 0;
  }
  let missed = 0;
  for (const name of names) {
    const bench = await load(name);
    process.stdout.write(`${name}: ${bench.measures} (seed ${seed})\n\n`);
    const startedAt = performance.now();
    const isReached = await bench.run({ seed, progress });
    progress('');
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    process.stdout.write(`\n${name}: ${isReached ? 'every figure reached' : 'FIGURES MISSED'} in ${seconds} s\n`);
    if (!isReached) missed += 1;
  }
  return missed === 0 ? 0 : 1;
}

const listNames = (): string[] =>
  readdirSync(FOLDER)
    .filter((name) => existsSync(new URL(`${name}/bench.ts`, FOLDER)))
    .sort();

const describeAll = (): Promise<string[]> =>
  Promise.all(listNames().map(async (name) => `  ${name.padEnd(10)} ${(await load(name)).measures}`));

async function load(name: string): Promise<Bench> {
  const { bench } = (await import(new URL(`${name}/bench.ts`, FOLDER).href)) as { bench: Bench };
  return bench;
}

function readArguments(args: string[]): { names: string[]; seed: number; help: boolean } {
  const { values, positionals } = parse(args);
  const seed = Number(values.seed);
  if (!/^\d{1,9}$/.test(values.seed))
    throw new UsageError(`--seed is "${values.seed}", but it has to be a whole number.`);
  const known = listNames();
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(
      `No bench is called "${unknown}". There is: ${known.join(', ')}; --help says what they measure.`,
    );
  return { names: positionals.length > 0 ? positionals : known, seed, help: values.help };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { seed: { type: 'string', default: '1' }, help: { type: 'boolean', short: 'h', default: false } },
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message.split(/\. |\n/)[0] : String(error);
    throw new UsageError(`${problem}. There is --seed N and --help.`, { cause: error });
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
