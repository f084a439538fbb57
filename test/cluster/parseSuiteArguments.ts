import { readArguments, readCount } from '@turnpike/local-stack/runCommand';

export interface SuiteArguments {
  /** Names of cells; all where there is none. */
  cells: string[];
  seed: number;
  list: boolean;
  help: boolean;
}

export const SUITE_USAGE = `npm run cluster -- test [cell…] [--seed N] [--list]

Tries the cluster that runs: what a rollout, a lost pod, a drained node and a wave of load do to calls and to the books of both
regions, and whether every pod may do what the manifests say and no more. All cells run where none is named.

  --seed N   what is sent and when something is struck; 1 where it is not given
  --list     show every cell and what must hold, and run none
  --help     show this`;

const LARGEST_SEED = 2 ** 32 - 1;

/** Reads the arguments of `npm run cluster -- test`. Throws a `StackError` that says what to write instead on anything else. */
export function parseSuiteArguments(args: string[]): SuiteArguments {
  const options = {
    seed: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  const hint = 'There is --seed N, --list and --help.';
  const { values, positionals } = readArguments({ args, allowPositionals: true, options }, hint);
  const seed = readCount('--seed', values.seed, { from: 0, to: LARGEST_SEED });
  return { cells: positionals, seed, list: values.list, help: values.help };
}
