import { beforeEach, expect, it } from '@jest/globals';
import { FIRST_REST_MS, LONGEST_REST_MS } from '../limits.ts';
import { WorkWatchdog } from './workWatchdog.ts';

const HUNG_AFTER_MS = 60_000;
let nowMs = 0;
let watchdog: WorkWatchdog;
beforeEach(() => {
  nowMs = 0;
  watchdog = new WorkWatchdog(() => nowMs);
});
const pass = (ms: number): void => {
  nowMs += ms;
};
const begin = (): void => watchdog.begin(HUNG_AFTER_MS);
/** Work that lasts so long and gives nothing. */
const hang = (ms: number): void => {
  begin();
  pass(ms);
  watchdog.end({ hasAnswer: false });
};

it('finds that a replica hangs while its work goes on', () => {
  begin();
  pass(HUNG_AFTER_MS - 1);
  expect(watchdog.isHung).toBe(false);
  pass(1);
  expect(watchdog.isHung).toBe(true);
});

it('adds up the work of clients that leave early, and counts no time without work', () => {
  for (let left = 0; left < 5; left += 1) {
    hang(10_000);
    pass(3_600_000);
  }
  expect(watchdog.isHung).toBe(false);
  hang(10_000);
  expect(watchdog.isHung).toBe(true);
});

it('counts each moment once, however much work there is', () => {
  for (let call = 0; call < 8; call += 1) begin();
  pass(HUNG_AFTER_MS - 1);
  expect(watchdog.isHung).toBe(false);
});

it('takes one output of any work for proof, also of work that was begun before it hung', () => {
  begin();
  begin();
  pass(HUNG_AFTER_MS);
  watchdog.end({ hasAnswer: true });
  expect(watchdog.isHung).toBe(false);
  pass(HUNG_AFTER_MS - 1);
  expect(watchdog.isHung).toBe(false);
  pass(1);
  expect(watchdog.isHung).toBe(true);
  watchdog.reset();
  expect(watchdog.isHung).toBe(false);
});

it('lets it be tried by one job once all its work has ended and it has rested, longer each time up to a limit', () => {
  begin();
  hang(HUNG_AFTER_MS);
  pass(LONGEST_REST_MS);
  expect(watchdog.isDue).toBe(false);
  watchdog.end({ hasAnswer: false });
  const rests: number[] = [];
  for (let tried = 0; tried < 6; tried += 1) {
    const sinceMs = nowMs;
    while (!watchdog.isDue) pass(1_000);
    rests.push(nowMs - sinceMs);
    begin();
    expect(watchdog.isDue).toBe(false);
    watchdog.end({ hasAnswer: false });
  }
  // A random part of a rest, half at most, is left out.
  for (const [tried, restMs] of rests.entries()) {
    const mostMs = Math.min(FIRST_REST_MS * 2 ** tried, LONGEST_REST_MS);
    expect(restMs).toBeGreaterThanOrEqual(mostMs / 2);
    expect(restMs).toBeLessThanOrEqual(mostMs + 1_000);
  }
  begin();
  watchdog.end({ hasAnswer: true });
  hang(HUNG_AFTER_MS);
  pass(FIRST_REST_MS);
  expect(watchdog.isDue).toBe(true);
});
