import { type Draw, shrinkCase } from '../cases/drawCase.ts';
import type { FuzzCase } from '../cases/fuzzCase.ts';
import type { Problem } from '../oracle/answer.ts';
import { type Finding, signatureOf } from './finding.ts';

/** Longest search for something smaller. */
const TIME_MS = 15_000;

export interface ShrinkOptions {
  draw: Draw;
  tryAlone: (fuzzCase: FuzzCase) => Promise<Problem[]>;
  blocksAlone: (fuzzCase: FuzzCase) => Promise<boolean>;
}

/** The smallest case with the same problem that is found in time; undefined where the problem does not come again. */
export function shrinkFinding(
  { index, problem }: Finding,
  { draw, tryAlone, blocksAlone }: ShrinkOptions,
): Promise<FuzzCase | undefined> {
  const deadline = performance.now() + TIME_MS;
  const signature = signatureOf(problem);
  return shrinkCase(draw, index, async (smaller) => {
    if (performance.now() > deadline) return false;
    if (problem.kind === 'stall') return blocksAlone(smaller);
    return (await tryAlone(smaller)).some((found) => signatureOf(found) === signature);
  });
}
