import { percentile } from '../median.ts';
import { POLICIES, type PolicyName } from './policies.ts';
import { type RunResult, runFleet } from './runFleet.ts';
import { SimulatedEngine } from './simulatedEngine.ts';
import type { Call } from './workload.ts';

const LOWEST_RATE = 2;
const HIGHEST_RATE = 40;
/** Halvings of the range: the rate is found to 5 %. */
const STEPS = 6;

export const someEngines = (count: number): SimulatedEngine[] =>
  Array.from({ length: count }, (_, index) => new SimulatedEngine(`engine-${index + 1}`));

/** The highest rate, in calls a second, at which a policy keeps the p99 of time to first token to `maxFirstTokenMs`. */
export function findHighestRate(
  calls: readonly Call[],
  policyName: PolicyName,
  maxFirstTokenMs: number,
): { rate: number; result: RunResult } {
  const policy = POLICIES[policyName];
  const tryRate = (rate: number) => runFleet(calls, someEngines(4), { policy, rate, isLateAfterMs: maxFirstTokenMs });
  let reached = LOWEST_RATE;
  let missed = HIGHEST_RATE;
  let best: RunResult | undefined;
  for (let step = 0; step < STEPS; step += 1) {
    const rate = Math.sqrt(reached * missed);
    const result = tryRate(rate);
    if (!result.isGivenUp && percentile(result.firstTokenMs, 0.99) <= maxFirstTokenMs) {
      reached = rate;
      best = result;
    } else missed = rate;
  }
  return { rate: reached, result: best ?? tryRate(reached) };
}
