import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Logger } from '@turnpike/logging/createLogger';
import { backoffMs, type RepeatOptions, type Repetition, repeat } from './repeat.ts';

let logged: unknown[][];
let repeated: Repetition[];
beforeEach(() => {
  jest.useFakeTimers();
  [logged, repeated] = [[], []];
});
afterEach(async () => {
  await Promise.all(repeated.map((repetition) => repetition.close()));
  jest.useRealTimers();
});

const log = Object.fromEntries(
  ['info', 'warn', 'error'].map((level) => [
    level,
    (fields: object, text: string) => logged.push([level, text, fields]),
  ]),
) as unknown as Logger;

function start(run: (signal: AbortSignal) => unknown, options: Partial<RepeatOptions> = {}): Repetition {
  const repetition = repeat(run, { pauseMs: 1_000, log, failing: 'it does not work', ...options });
  repeated.push(repetition);
  return repetition;
}
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

/** Counts its runs; each lasts until the test ends it. */
function aSlowRun() {
  const signals: AbortSignal[] = [];
  let ended = Promise.withResolvers<void>();
  return {
    signals,
    run(signal: AbortSignal) {
      signals.push(signal);
      ended = Promise.withResolvers();
      return ended.promise;
    },
    end: () => ended.resolve(),
    fail: () => ended.reject(new Error('no')),
  };
}

it('runs at once, and again each pause after the end of a run', async () => {
  const slow = aSlowRun();
  start(slow.run);
  await pass(5_000);
  expect(slow.signals).toHaveLength(1);
  slow.end();
  await pass(999);
  expect(slow.signals).toHaveLength(1);
  await pass(1);
  expect(slow.signals).toHaveLength(2);
  slow.end();
});

it('asks how long to pause after each run, and pauses before the first where it is told to', async () => {
  const runs: number[] = [];
  let pauseMs = 100;
  const run = () => {
    runs.push(performance.now());
    pauseMs *= 2;
  };
  const startedAt = performance.now();
  start(run, { pauseMs: () => pauseMs, pausesFirst: true });
  await pass(700);
  expect(runs.map((at) => at - startedAt)).toEqual([100, 300, 700]);
});

it('runs now when it is asked to, once for all who ask during the same run', async () => {
  const slow = aSlowRun();
  const repetition = start(slow.run);
  const asked = [repetition.now(), repetition.now()];
  slow.end();
  await pass(1);
  expect(slow.signals).toHaveLength(2);
  slow.fail();
  const outcomes = await Promise.allSettled(asked);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const resting = repetition.now();
  await pass(0);
  expect(slow.signals).toHaveLength(3);
  slow.end();
  await expect(resting).resolves.toBeUndefined();
});

it.each(['warn', 'error'] as const)('logs the first failure of an outage as %s, and its end', async (level) => {
  const outcomes = [true, false, false, true, true, false];
  const error = new Error('no');
  const run = async () => {
    if (!outcomes.shift()) throw error;
  };
  start(run, { level });
  await pass(5_000);
  expect(logged).toEqual([
    [level, 'it does not work', { err: error }],
    ['info', 'over: it does not work', { failures: 2 }],
    [level, 'it does not work', { err: error }],
  ]);
});

it('backs off while it fails, where it is told to', async () => {
  let runs = 0;
  start(
    () => {
      runs += 1;
      throw new Error('no');
    },
    { backoff: { firstMs: 100, longestMs: 400 } },
  );
  // The pauses are between half and all of 100, 200, 400 and 400 ms.
  await pass(350);
  expect(runs).toBeGreaterThanOrEqual(2);
  expect(runs).toBeLessThanOrEqual(4);
  await pass(10_000);
  expect(runs).toBeGreaterThanOrEqual(25);
  expect(runs).toBeLessThanOrEqual(55);
});

it('closes when the run under way has ended, tells that run, and begins no other', async () => {
  const slow = aSlowRun();
  const repetition = start(slow.run);
  const asked = repetition.now();
  let isClosed = false;
  const closing = repetition.close().then(() => {
    isClosed = true;
  });
  await pass(60_000);
  expect(slow.signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(isClosed).toBe(false);
  slow.fail();
  await closing;
  await pass(60_000);
  expect(slow.signals).toHaveLength(1);
  await expect(asked).rejects.toThrow('closed');
  await expect(repetition.now()).rejects.toThrow('closed');
  expect(logged).toEqual([]);
});

it('doubles the pause with each attempt up to the longest, and takes half of it to all of it', () => {
  const backoff = { firstMs: 100, longestMs: 5_000 };
  const longest = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];
  for (const [attempt, ms] of longest.entries()) {
    const pauses = Array.from({ length: 200 }, () => backoffMs(attempt, backoff));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(ms / 2);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(ms);
    expect(new Set(pauses).size).toBeGreaterThan(100);
  }
  expect(backoffMs(5_000, backoff)).toBeLessThanOrEqual(5_000);
});
