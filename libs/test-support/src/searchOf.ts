import { randomInt } from 'node:crypto';

/**
 * Returns how fast-check searches for a counterexample. The quick run makes a fifth of the runs from one seed, so that a change is
 * judged by its own effect. The rest makes all of them from a new seed, and prints it. `SEARCH_SEED` makes all of them from that seed.
 */
export function searchOf(numRuns: number): { numRuns: number; seed: number } {
  const { TURNPIKE_TEST_RUN: run = 'quick', SEARCH_SEED: given } = process.env;
  if (run === 'quick' && given === undefined) return { numRuns: Math.ceil(numRuns / 5), seed: 1 };
  const seed = Number(given ?? randomInt(2 ** 31 - 1));
  process.stderr.write(`searching from a new seed; again: SEARCH_SEED=${seed} npm test -- with the name of the file\n`);
  return { numRuns, seed };
}
