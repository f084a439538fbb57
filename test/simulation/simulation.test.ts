import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectTruth } from './expectTruth.ts';
import { openSimulators, type Simulators } from './openSimulators.ts';
import type { SeedResult } from './runSeed.ts';
import { simulateSeeds } from './simulateSeeds.ts';

// The money's protocol through faults of every kind, in simulated time: see README.md. The seeds are always the same, so that a
// change is judged by what it changes. The deep file draws new seeds, and has the mutations, which prove the checks.

const PROCESSES = 2;

let simulators: Simulators;
beforeAll(() => {
  simulators = openSimulators(PROCESSES);
});
afterAll(() => simulators.close());

it('keeps the books of 30 seeds of load and faults equal to the truth', async () => {
  await expectTruth(simulators, { first: 1, count: 30 });
}, 600_000);

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
});
