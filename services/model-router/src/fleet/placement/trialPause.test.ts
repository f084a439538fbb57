import { expect, it } from '@jest/globals';
import { TrialPause } from './trialPause.ts';

/** How long after a trial of so many milliseconds the next one is due. */
function pauseAfter(trialMs: number): number {
  const pause = new TrialPause();
  pause.begin(0);
  pause.end(trialMs);
  let pauseMs = 0;
  while (!pause.isOver(trialMs + pauseMs)) pauseMs += 1;
  return pauseMs;
}

it('lets the first trial begin at once, and the next one when that took a tenth of the time', () => {
  expect(new TrialPause().isOver(0)).toBe(true);
  expect([200, 1_000, 10_000].map(pauseAfter)).toEqual([1_800, 9_000, 90_000]);
});

it('is a second after a trial that was over at once', () => {
  expect(pauseAfter(0)).toBe(1_000);
});

it('does not end while a trial is under way', () => {
  const pause = new TrialPause();
  pause.begin(0);
  expect(pause.isOver(3_600_000)).toBe(false);
});
