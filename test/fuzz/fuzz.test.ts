import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Draw } from './cases/drawCase.ts';
import { describeCase, type FuzzCase } from './cases/fuzzCase.ts';
import { listKnownCases } from './cases/listKnownCases.ts';
import { parseSeed } from './parseFuzzArguments.ts';
import { formatFinding } from './report/formatReport.ts';
import { MAX_BLOCKED_MS } from './run/loopProbe.ts';
import { runFuzz } from './run/runFuzz.ts';
import { type FuzzStack, startFuzzStack } from './run/startFuzzStack.ts';
import { tryCaseSteadily } from './run/tryCase.ts';

const CASES = 20_000;
/** The same cases every time, so that a change is judged by what it changes; `npm run fuzz` draws new ones. */
const SEED = 1;
const IN_FLIGHT = 32;

let stack: FuzzStack;
const served: string[] = [];
beforeAll(async () => {
  stack = await startFuzzStack({ inFlight: IN_FLIGHT });
}, 120_000);
afterAll(() => stack?.stop(), 60_000);

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
}, 300_000);

it(`no input of ${CASES} brings a 500, a wrong status, a wrong body, a stall, or the books out of order`, async () => {
  const { FUZZ_SEED: given } = process.env;
  const draw: Draw = { seed: given ? parseSeed('FUZZ_SEED', given) : SEED, of: 'all' };
  process.stderr.write(`fuzzing with FUZZ_SEED=${draw.seed}\n`);
  const result = await runFuzz(stack, { draw, from: 0, cases: CASES, inFlight: IN_FLIGHT });

  expect(result.groups.map((group) => formatFinding(group, draw))).toEqual([]);
  // Where all were refused, little would be proven.
  expect(result.servedCallIds.length).toBeGreaterThan(CASES / 20);
  expect(result.servedMedia).toBeGreaterThan(CASES / 400);
  const callIds = [...served, ...result.servedCallIds];
  expect(await stack.books.check({ callIds, media: result.servedMedia })).toEqual([]);
}, 540_000);
