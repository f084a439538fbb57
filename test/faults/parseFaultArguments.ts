import { readArguments, readCount } from '@turnpike/local-stack/runCommand';

export interface FaultArguments {
  patterns: string[];
  /** Ten times the completions. */
  full: boolean;
  seed: number;
  /** The router counts on a Redis Cluster. */
  cluster: boolean;
  /** The commit that cells of releases begin on; they are left out where none is given. */
  from: string | undefined;
  list: boolean;
  help: boolean;
}

export const FAULTS_USAGE = `npm run faults -- [<group or cell>…] [--full] [--seed N] [--cluster] [--from REF] [--list]

Breaks a running stack part by part under load, and holds the books against the engines' own log after every cell:
nothing lost, nothing doubled, not a nano-dollar apart. All cells run where none is named. A cell whose fault this machine
cannot inject is NOT TESTED, which makes the exit code 1 only with REQUIRE_FAULTS=1.

  <group or cell>   for instance: redis, router-kill, 'broker*'
  --full            10,000 completions a cell in place of 1,000, and the cells that other runs draw some of by the seed
  --seed N          what decides when faults strike and what is sent; 1 where it is not given
  --cluster         with a Redis Cluster of three masters and their replicas in place of one Redis; cells that say nothing
                    about one are left out, and --list says why
  --from REF        the commit or tag of the release before, for the cells that replace it by this one; they are left out
                    where it is not given
  --list            show every cell, what it breaks and what must hold, and run none
  --help            show this`;

const LARGEST_SEED = 2 ** 32 - 1;

/** Reads the arguments of `npm run faults --`. Throws a `StackError` that says what to write instead on anything else. */
export function parseFaultArguments(args: string[]): FaultArguments {
  const options = {
    full: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    cluster: { type: 'boolean', default: false },
    from: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  const hint = 'There is --full, --seed N, --cluster, --from REF, --list and --help.';
  const { values, positionals } = readArguments({ args, allowPositionals: true, options }, hint);
  const seed = readCount('--seed', values.seed, { from: 0, to: LARGEST_SEED });
  return { ...values, from: values.from, seed, patterns: positionals };
}
