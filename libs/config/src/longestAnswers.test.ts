import { expect, it } from '@jest/globals';
import { toLongestCallMs, toLongestSilenceMs } from './longestAnswers.ts';

const DEFAULTS = { IMAGES_TIMEOUT_MS: 10_000, WHOLE_TIMEOUT_MS: 300_000, STREAM_TIMEOUT_MS: 600_000 };

it('lets the router be silent for a whole answer and all that may come before it, by the defaults and by any others', () => {
  // Images, a place to fetch them, two prompt counts, then an answer with its wait for an engine.
  expect(toLongestSilenceMs(DEFAULTS)).toBeGreaterThan(10_000 + 2_000 + 2 * 2_000 + 300_000);
  expect(toLongestSilenceMs({ ...DEFAULTS, WHOLE_TIMEOUT_MS: 900_000 })).toBeGreaterThan(916_000);
  expect(toLongestSilenceMs({ ...DEFAULTS, IMAGES_TIMEOUT_MS: 60_000 })).toBeGreaterThan(366_000);
});

it('counts the longer of a whole answer and a stream', () => {
  expect(toLongestCallMs(DEFAULTS)).toBeGreaterThan(616_000);
  expect(toLongestCallMs({ ...DEFAULTS, WHOLE_TIMEOUT_MS: 1_200_000 })).toBeGreaterThan(1_216_000);
});
