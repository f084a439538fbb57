import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeCase, type FuzzCase } from './cases/fuzzCase.ts';
import { listKnownCases } from './cases/listKnownCases.ts';
import { drawSeed } from './parseFuzzArguments.ts';
import { expectNoFinding, IN_FLIGHT } from './run/expectNoFinding.ts';
import { MAX_BLOCKED_MS } from './run/loopProbe.ts';
import { type FuzzStack, startFuzzStack } from './run/startFuzzStack.ts';
import { tryCaseSteadily } from './run/tryCase.ts';

const CASES = 20_000;

let stack: FuzzStack;
const served: string[] = [];
beforeAll(async () => {
  stack = await startFuzzStack({ inFlight: IN_FLIGHT });
});
afterAll(() => stack?.stop());

const ATTEMPTS = 3;

/** How long a case blocks an event loop: the least of a few times, since a busy machine makes it longer and never shorter. */
async function blockedMsBy(known: FuzzCase): Promise<number> {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && leastMs >= MAX_BLOCKED_MS; attempt += 1) {
    await stack.loops.takeBlockedMs();
    const outcomes = await tryCaseSteadily(known, stack);
    served.push(...outcomes.flatMap(({ servedCallId }) => servedCallId ?? []));
    const problems = outcomes.at(-1)?.problems;
    expect({ problems, of: describeCase(known) }).toEqual({ problems: [], of: describeCase(known) });
    leastMs = Math.min(leastMs, await stack.loops.takeBlockedMs());
  }
  return leastMs;
}

it('each known attack is answered as it has to be, and none blocks an event loop', async () => {
  for (const known of listKnownCases()) {
    expect(await blockedMsBy(known)).toBeLessThan(MAX_BLOCKED_MS);
  }
});

it(`no new input of ${CASES} brings a 500, a wrong status, a wrong body, a stall, or the books out of order`, async () => {
  const seed = drawSeed();
  process.stderr.write(`fuzzing with a new seed; again: npm run fuzz -- --seed ${seed} --cases ${CASES}\n`);
  await expectNoFinding(stack, { seed, cases: CASES, served });
}, 3_600_000);
