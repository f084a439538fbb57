import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, it } from '@jest/globals';
import { expectTruth } from './expectTruth.ts';
import { openSimulators, type Simulators } from './openSimulators.ts';

const COUNT = 1_000;
const PROCESSES = 2;

let simulators: Simulators;
beforeAll(() => {
  simulators = openSimulators(PROCESSES);
});
afterAll(() => simulators.close());

it(`keeps the books of ${COUNT} new seeds of load and faults equal to the truth`, async () => {
  const first = randomInt(1_000, 2 ** 31 - COUNT);
  process.stderr.write(`simulating from a new seed; again: npm run simulate -- --seed ${first} --seeds ${COUNT}\n`);
  await expectTruth(simulators, { first, count: COUNT });
}, 900_000);
