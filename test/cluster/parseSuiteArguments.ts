import { parseArgs } from 'node:util';
import { StackError } from '@turnpike/local-stack/stackError';

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
  const { values, positionals } = parse(args);
  const seed = /^\d{1,10}$/.test(values.seed) ? Number(values.seed) : Number.NaN;
  if (!(seed <= LARGEST_SEED))
    throw new StackError(`--seed is "${values.seed}", but it has to be a whole number from 0 to ${LARGEST_SEED}.`);
  return { cells: positionals, seed, list: values.list, help: values.help };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        seed: { type: 'string', default: '1' },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message.split(/\. |\n/)[0] : String(error);
    throw new StackError(`${problem}. There is --seed N, --list and --help.`, { cause: error });
  }
}
