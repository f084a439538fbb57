import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createWorkPool } from './workPool.ts';

const signal = new AbortController().signal;

/** Work that ends when it is told to. */
function aWork() {
  const { promise, resolve } = Promise.withResolvers<string>();
  let hasBegun = false;
  return {
    end: () => resolve('done'),
    hasBegun: () => hasBegun,
    work: () => {
      hasBegun = true;
      return promise;
    },
  };
}

describe('a pool', () => {
  it('runs so much at a time, in the order in which it came', async () => {
    const pool = createWorkPool({ slots: 1, maxWaiting: 2, maxWaitMs: 60_000 });
    const works = [aWork(), aWork(), aWork()];
    const runs = works.map(({ work }) => pool.run(work, { isPatient: false, signal }));
    await setImmediate();
    expect(works.map(({ hasBegun }) => hasBegun())).toEqual([true, false, false]);
    works[0]?.end();
    expect(await runs[0]).toBe('done');
    await setImmediate();
    expect(works.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false]);
    works[1]?.end();
    works[2]?.end();
    expect(await Promise.all(runs)).toEqual(['done', 'done', 'done']);
  });

  it('refuses what may not wait where as much as may waits already, and takes what is patient', async () => {
    const pool = createWorkPool({ slots: 1, maxWaiting: 1, maxWaitMs: 60_000 });
    const running = aWork();
    const runs = [true, true, false].map((isPatient) => pool.run(running.work, { isPatient, signal }));
    await expect(pool.run(running.work, { isPatient: false, signal })).rejects.toMatchObject({ kind: 'overloaded' });
    runs.push(pool.run(running.work, { isPatient: true, signal }));
    running.end();
    expect(await Promise.all(runs)).toEqual(['done', 'done', 'done', 'done']);
  });

  it('refuses what has waited too long, and lets the patient one behind it have its turn', async () => {
    const pool = createWorkPool({ slots: 1, maxWaiting: 1, maxWaitMs: 20 });
    const running = aWork();
    const first = pool.run(running.work, { isPatient: true, signal });
    const late = pool.run(running.work, { isPatient: false, signal });
    const patient = pool.run(running.work, { isPatient: true, signal });
    await expect(late).rejects.toMatchObject({ kind: 'overloaded' });
    expect(pool.load).toEqual({ running: 1, waiting: 1 });
    running.end();
    expect(await Promise.all([first, patient])).toEqual(['done', 'done']);
    expect(pool.load).toEqual({ running: 0, waiting: 0 });
  });

  it('lets go of what is given up while it waits', async () => {
    const pool = createWorkPool({ slots: 1, maxWaiting: 1, maxWaitMs: 60_000 });
    const [running, given, next] = [aWork(), aWork(), aWork()];
    const first = pool.run(running.work, { isPatient: false, signal });
    const left = new AbortController();
    const second = pool.run(given.work, { isPatient: false, signal: left.signal });
    left.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    const third = pool.run(next.work, { isPatient: false, signal });
    running.end();
    next.end();
    expect(await Promise.all([first, third])).toEqual(['done', 'done']);
    expect(given.hasBegun()).toBe(false);
  });

  it('goes on after work that fails', async () => {
    const pool = createWorkPool({ slots: 1, maxWaiting: 0, maxWaitMs: 60_000 });
    const failing = () => Promise.reject(new Error('failed'));
    await expect(pool.run(failing, { isPatient: false, signal })).rejects.toThrow('failed');
    await expect(pool.run(async () => 1, { isPatient: false, signal })).resolves.toBe(1);
  });
});
