import { afterAll, beforeAll, it } from '@jest/globals';
import { drawSeed } from './parseFuzzArguments.ts';
import { expectNoFinding, IN_FLIGHT } from './run/expectNoFinding.ts';
import { type FuzzStack, startFuzzStack } from './run/startFuzzStack.ts';

const CASES = 20_000;

let stack: FuzzStack;
beforeAll(async () => {
  stack = await startFuzzStack({ inFlight: IN_FLIGHT });
}, 120_000);
afterAll(() => stack?.stop(), 60_000);

it(`no new input of ${CASES} brings a 500, a wrong status, a wrong body, a stall, or the books out of order`, async () => {
  const seed = drawSeed();
  process.stderr.write(`fuzzing with a new seed; again: npm run fuzz -- --seed ${seed} --cases ${CASES}\n`);
  await expectNoFinding(stack, { seed, cases: CASES });
}, 900_000);
