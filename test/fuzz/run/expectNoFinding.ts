import { expect } from '@jest/globals';
import type { Draw } from '../cases/drawCase.ts';
import { formatFinding } from '../report/formatReport.ts';
import { runFuzz } from './runFuzz.ts';
import type { FuzzStack } from './startFuzzStack.ts';

export const IN_FLIGHT = 32;

/**
 * Sends the cases of a seed. Fails with each kind of finding and how to see it again, or where the books are out of order. The calls
 * in `served` were made before and are in the books too.
 */
export async function expectNoFinding(
  stack: FuzzStack,
  { seed, cases, served = [] }: { seed: number; cases: number; served?: string[] },
): Promise<void> {
  const draw: Draw = { seed, of: 'all' };
  const result = await runFuzz(stack, { draw, from: 0, cases, inFlight: IN_FLIGHT });
  expect(result.groups.map((group) => formatFinding(group, draw))).toEqual([]);
  // A run with refusals alone would prove little.
  expect(result.servedCallIds.length).toBeGreaterThan(cases / 20);
  expect(result.servedMedia).toBeGreaterThan(cases / 400);
  const callIds = [...served, ...result.servedCallIds];
  expect(await stack.books.check({ callIds, media: result.servedMedia })).toEqual([]);
}
