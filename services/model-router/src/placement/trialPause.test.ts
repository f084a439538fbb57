import { expect, it } from '@jest/globals';
import { TrialPause } from './trialPause.ts';

/** How long after a trial the next one is due, in whole seconds. */
function secondsUntilNext(pause: TrialPause, measuredAtMs: number): number {
  let seconds = 0;
  while (!pause.isOver({ nowMs: measuredAtMs + seconds * 1_000, measuredAtMs })) seconds += 1;
  return seconds;
}

it('doubles with every trial that did not help, up to 160 s, and begins anew once the engine is as quick as the others', () => {
  const pause = new TrialPause();
  const pauses = Array.from({ length: 9 }, () => {
    const seconds = secondsUntilNext(pause, 0);
    pause.begin(0);
    return seconds;
  });
  expect(pauses).toEqual([3, 5, 9, 17, 33, 65, 129, 161, 161]);
  pause.end();
  expect(secondsUntilNext(pause, 0)).toBe(3);
});

it('begins with what was measured last', () => {
  const pause = new TrialPause();
  expect(pause.isOver({ nowMs: 56_000, measuredAtMs: 55_000 })).toBe(false);
  expect(pause.isOver({ nowMs: 66_000, measuredAtMs: 55_000 })).toBe(true);
});
