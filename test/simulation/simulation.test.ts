import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findMutant } from './findMutant.ts';
import { formatViolation } from './formatViolation.ts';
import { MUTATIONS } from './mutations.ts';
import { openSimulators, type Simulators } from './openSimulators.ts';
import type { SeedResult } from './runSeed.ts';
import { simulateSeeds } from './simulateSeeds.ts';

// The money's protocol through faults of every kind, in simulated time: see README.md. SIMULATION_SEED replays one seed.

const replayed = process.env.SIMULATION_SEED;
const [FIRST, COUNT] = replayed === undefined ? [1, 1_000] : [Number(replayed), 1];
const PROCESSES = 2;

let simulators: Simulators;
beforeAll(() => {
  simulators = openSimulators(PROCESSES);
});
afterAll(() => simulators.close());

it('keeps the books of 1,000 seeds of load and faults equal to the truth', async () => {
  const results: SeedResult[] = [];
  await simulators.simulate({ first: FIRST, count: COUNT, onResult: (result) => results.push(result) > 0 });
  expect(results.filter(({ violation }) => violation !== undefined).map(formatViolation)).toEqual([]);
  expect(results).toHaveLength(COUNT);
  const sum = (read: (result: SeedResult) => number): number =>
    results.reduce((total, result) => total + read(result), 0);
  // What is not lived through proves nothing: calls were let in, calls were refused, and Redis was lost.
  if (replayed === undefined) {
    expect(sum(({ letIn }) => letIn)).toBeGreaterThan(10 * COUNT);
    expect(sum(({ calls, letIn }) => calls - letIn)).toBeGreaterThan(COUNT);
    expect(sum(({ marks }) => marks)).toBeGreaterThan(1.3 * COUNT);
  }
}, 600_000);

it.each(Object.keys(MUTATIONS))(
  'notices within a few hundred seeds when %s',
  async (mutation) => {
    const { result, others } = await findMutant(mutation, simulators);
    expect({ mutation, check: result?.check, others }).toEqual({ mutation, check: expect.any(String), others });
  },
  300_000,
);

it('lives through the same run again with the same seed, in another process', async () => {
  const runs: SeedResult[] = [];
  for (let turn = 0; turn < 2; turn += 1)
    await simulateSeeds(1, {
      first: 1,
      count: 1,
      mutation: 'admission looks at no balance',
      onResult: (result) => runs.push(result) > 0,
    });
  expect(runs[0]?.trace.length).toBeGreaterThan(0);
  expect(runs[1]).toEqual(runs[0]);
}, 60_000);
