import { compareCalls } from './compareCalls.ts';
import { compareMedia } from './compareMedia.ts';
import { compareSums } from './compareSums.ts';
import type { BookRules, Evidence, Findings } from './evidence.ts';
import { findOverspend } from './findOverspend.ts';
import { ProblemList } from './problemList.ts';

/** Holds all that is known of a cell's calls and jobs against each other, to the nano-dollar. */
export function checkBooks(evidence: Evidence, rules: BookRules): Findings {
  const problems = new ProblemList();
  const calls = compareCalls(evidence, rules, problems);
  const media = compareMedia(evidence, problems);
  const sums = compareSums(evidence, problems);
  findOverspend(evidence, problems);
  return {
    lost: calls.lost + media.lost + sums.lost,
    doubled: calls.doubled + media.doubled + sums.doubled,
    difference: calls.difference + media.difference + sums.difference,
    problems: problems.toLines(),
  };
}

/** Whether nothing is wrong. */
export function areWhole({ lost, doubled, difference, problems }: Findings): boolean {
  return lost === 0 && doubled === 0 && difference === 0n && problems.length === 0;
}
