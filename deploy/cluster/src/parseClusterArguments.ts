import { readArguments } from '@turnpike/local-stack/runCommand';
import { StackError } from '@turnpike/local-stack/stackError';

/** The command of `npm run cluster`. */
export type ClusterArguments =
  | { command: 'up'; nodes: number }
  | { command: 'build' | 'down' | 'help' }
  /** The arguments are the suite's own. */
  | { command: 'test'; args: string[] };

export const CLUSTER_USAGE = `npm run cluster -- [--nodes N] | build | down | test [cell…]

Runs both regions and the account layer on a real Kubernetes on this machine, each in a namespace of its own: builds what is
missing, starts the cluster, loads the images that changed, and waits until every service is ready. Done again it brings the cluster up to date.

  --nodes N      nodes of the cluster, 1 to 9; 1 where it is not given
  build          compiles the cluster and builds the images, and starts nothing
  down           ends the cluster with all that was in it
  test [cell…]   the suite of the running cluster; test --help says more
  --help         show this`;

const HINT = 'There is --nodes N, build, down, test and --help.';

/** Reads the arguments of `npm run cluster --`. Throws a `StackError` that says what there is on anything unknown. */
export function parseClusterArguments(args: string[]): ClusterArguments {
  if (args[0] === 'test') return { command: 'test', args: args.slice(1) };
  const options = { nodes: { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } } as const;
  const { values, positionals } = readArguments({ args, allowPositionals: true, options }, HINT);
  const [command, ...others] = positionals;
  if (values.help) return { command: 'help' };
  if (others.length > 0) throw new StackError(`One command at a time, and not "${positionals.join(' ')}". ${HINT}`);
  if (command !== undefined && command !== 'build' && command !== 'down')
    throw new StackError(`There is no command "${command}". ${HINT}`);
  if (values.nodes !== undefined && !/^[1-9]$/.test(values.nodes))
    throw new StackError(`--nodes is "${values.nodes}", but it has to be a number from 1 to 9.`);
  if (command === undefined) return { command: 'up', nodes: Number(values.nodes ?? 1) };
  if (values.nodes !== undefined) throw new StackError(`--nodes is for the start of a cluster, not for ${command}.`);
  return { command };
}
