import { expect } from '@jest/globals';
import { formatViolation } from './formatViolation.ts';
import type { SimulateOptions, Simulators } from './openSimulators.ts';
import type { SeedResult } from './runSeed.ts';

/** Lives through hundreds of seeds. Fails with the steps of each one whose books are wrong, and how to see it again. */
export async function expectTruth(
  simulators: Simulators,
  { first, count }: Pick<SimulateOptions, 'first' | 'count'>,
): Promise<void> {
  const results: SeedResult[] = [];
  await simulators.simulate({ first, count, onResult: (result) => results.push(result) > 0 });
  expect(results.filter(({ violation }) => violation !== undefined).map(formatViolation)).toEqual([]);
  expect(results).toHaveLength(count);
  const sum = (read: (result: SeedResult) => number): number =>
    results.reduce((total, result) => total + read(result), 0);
  // A run without these events proves nothing: calls were admitted, calls were refused, and Redis was lost.
  expect(sum(({ letIn }) => letIn)).toBeGreaterThan(10 * count);
  expect(sum(({ calls, letIn }) => calls - letIn)).toBeGreaterThan(count);
  expect(sum(({ marks }) => marks)).toBeGreaterThan(1.3 * count);
}
