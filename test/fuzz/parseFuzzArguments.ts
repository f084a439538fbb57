import { readArguments, readCount } from '@turnpike/local-stack/runCommand';
import { StackError } from '@turnpike/local-stack/stackError';
import { CASE_KINDS, type CaseKind, type Draw } from './cases/drawCase.ts';

export interface FuzzArguments extends Draw {
  cases: number;
  /** Number of the one case to be sent. */
  replay: number | undefined;
  help: boolean;
}

export const FUZZ_USAGE = `npm run fuzz -- [--of KIND] [--cases N] [--seed N] [--replay CASE]

Sends random requests to a stack of its own, well-formed ones and what becomes of them by changes of their bodies, bytes,
headers and framing, and judges every answer, the event loops and, at the end, the books.

  --of KIND       draw from one kind only: text, media (which has forms), or forms; all where it is not given
  --cases N       how many; 200000 where it is not given
  --seed N        what they follow from; random where it is not given, and printed
  --replay CASE   send one case of the seed alone, and show it and its answer
  --help          show this`;

const LARGEST_SEED = 2 ** 31 - 1;
const LARGEST_COUNT = 100_000_000;
const DEFAULT_CASES = 200_000;

/** Reads the arguments of `npm run fuzz --`. Throws a `StackError` that says what to write instead on anything else. */
export function parseFuzzArguments(args: string[]): FuzzArguments {
  const options = {
    of: { type: 'string', default: 'all' },
    cases: { type: 'string' },
    seed: { type: 'string' },
    replay: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  const hint = 'There is --of KIND, --cases N, --seed N, --replay CASE and --help.';
  const { of, cases, seed, replay, help } = readArguments({ args, options }, hint).values;
  if (replay !== undefined && seed === undefined)
    throw new StackError('--replay needs the --seed that the case was found with.');
  return {
    help,
    of: parseKind(of),
    cases: cases === undefined ? DEFAULT_CASES : readCount('--cases', cases, { from: 1, to: LARGEST_COUNT }),
    seed: seed === undefined ? drawSeed() : readCount('--seed', seed, { from: 0, to: LARGEST_SEED }),
    replay: replay === undefined ? undefined : readCount('--replay', replay, { from: 0, to: LARGEST_COUNT }),
  };
}

function parseKind(text: string): CaseKind {
  const kind = CASE_KINDS.find((each) => each === text);
  if (kind === undefined) throw new StackError(`--of is "${text}", but it has to be one of ${CASE_KINDS.join(', ')}.`);
  return kind;
}

/** Draws a seed by chance. */
export const drawSeed = (): number => Math.floor(Math.random() * LARGEST_SEED);
