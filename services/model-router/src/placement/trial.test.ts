import { expect, it } from '@jest/globals';
import { EngineLoad } from '../engines/engineLoad.ts';
import type { Trial } from '../engines/terms/dialect.ts';
import { tryOut } from './placer.ts';

/** An engine that is slow, on a clock of its own. */
function aSlowEngine() {
  const clock = { ms: 0 };
  const trials: Trial[] = [];
  const load = new EngineLoad(() => clock.ms);
  const engine = { load, windowTokens: undefined, tryOut: (trial: Trial) => void trials.push(trial) };
  return { clock, trials, tryIt: () => tryOut(engine, () => clock.ms) };
}

/** How long after a trial of so many milliseconds the next one is sent. */
function pauseAfter(trialMs: number): number {
  const { clock, trials, tryIt } = aSlowEngine();
  tryIt();
  clock.ms = trialMs;
  trials[0]?.end(16);
  for (tryIt(); trials.length < 2; tryIt()) clock.ms += 1;
  return clock.ms - trialMs;
}

it('lets the first trial begin at once, and the next one when that took a tenth of the time', () => {
  const { trials, tryIt } = aSlowEngine();
  tryIt();
  expect(trials).toHaveLength(1);
  expect([200, 1_000, 10_000].map(pauseAfter)).toEqual([1_800, 9_000, 90_000]);
});

it('is a second after a trial that was over at once', () => {
  expect(pauseAfter(0)).toBe(1_000);
});

it('is not sent while another one is under way', () => {
  const { clock, trials, tryIt } = aSlowEngine();
  tryIt();
  clock.ms = 3_600_000;
  tryIt();
  expect(trials).toHaveLength(1);
});
