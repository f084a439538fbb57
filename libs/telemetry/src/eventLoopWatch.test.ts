import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { type EventLoopWatch, watchEventLoop } from './eventLoopWatch.ts';

const LATE_ENOUGH_MS = 300;

let watch: EventLoopWatch;
afterEach(() => watch.stop());

/** Computes until the thread has used so much processor time. */
function compute(busyMs: number): void {
  const used = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const start = used();
  while (used() - start < busyMs);
}

/** The longest that were seen by the time that a turn so long has been. */
async function takeOnce({ lateMs }: { lateMs: number }) {
  for (;;) {
    await pause(1);
    const delays = watch.take();
    if (delays.late * 1_000 >= lateMs) return delays;
  }
}

it('sees for how long the thread computed, once', async () => {
  watch = watchEventLoop();
  compute(400);
  expect((await takeOnce({ lateMs: LATE_ENOUGH_MS })).blocked).toBeGreaterThanOrEqual(0.4);
  expect(watch.take()).toEqual({ late: 0, blocked: 0 });
});

it('tells waiting from computing', async () => {
  watch = watchEventLoop();
  // The thread sleeps, as one does that the machine gives no time.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  expect((await takeOnce({ lateMs: LATE_ENOUGH_MS })).blocked).toBeLessThan(0.3);
});
