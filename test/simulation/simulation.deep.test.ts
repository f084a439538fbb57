import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectTruth } from './expectTruth.ts';
import { findMutant } from './findMutant.ts';
import { MUTATIONS } from './mutations.ts';
import { openSimulators, type Simulators } from './openSimulators.ts';

const COUNT = 1_000;
/** More would slow the files that run beside this one. */
const PROCESSES = 1;
/** Ends a search that hangs: how long its seeds take is a matter of what else runs. */
const SEARCH_TIMEOUT_MS = 3_600_000;

let simulators: Simulators;
beforeAll(() => {
  simulators = openSimulators(PROCESSES);
});
afterAll(() => simulators.close());

it(
  `keeps the books of ${COUNT} new seeds of load and faults equal to the truth`,
  async () => {
    const first = randomInt(1_000, 2 ** 31 - COUNT);
    process.stderr.write(`simulating from a new seed; again: npm run simulate -- --seed ${first} --seeds ${COUNT}\n`);
    await expectTruth(simulators, { first, count: COUNT });
  },
  SEARCH_TIMEOUT_MS,
);

it.each(Object.keys(MUTATIONS))(
  'notices within a few hundred seeds when %s',
  async (mutation) => {
    const { result, others } = await findMutant(mutation, simulators);
    expect({ mutation, check: result?.check, others }).toEqual({ mutation, check: expect.any(String), others });
  },
  SEARCH_TIMEOUT_MS,
);
