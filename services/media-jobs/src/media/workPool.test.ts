import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createWorkPool } from './workPool.ts';

const signal = new AbortController().signal;
const owner = { workspaceId: 'ws_1', keyId: 'key_1' };

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
    const runs = works.map(({ work }) => pool.run(work, { owner, signal }));
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
    const runs = [undefined, undefined, owner].map((of) =>
      pool.run(running.work, { ...(of && { owner: of }), signal }),
    );
    await expect(pool.run(running.work, { owner, signal })).rejects.toMatchObject({ kind: 'overloaded' });
    runs.push(pool.run(running.work, { signal }));
    running.end();
    expect(await Promise.all(runs)).toEqual(['done', 'done', 'done', 'done']);
  });

  it('refuses what has waited too long, and lets the patient one behind it have its turn', async () => {
    const pool = createWorkPool({ slots: 1, maxWaiting: 1, maxWaitMs: 20 });
    const running = aWork();
    const first = pool.run(running.work, { signal });
    const late = pool.run(running.work, { owner, signal });
    const patient = pool.run(running.work, { signal });
    await expect(late).rejects.toMatchObject({ kind: 'overloaded' });
    expect(pool.load).toEqual({ running: 1, waiting: 1 });
    running.end();
    expect(await Promise.all([first, patient])).toEqual(['done', 'done']);
    expect(pool.load).toEqual({ running: 0, waiting: 0 });
  });

  it('lets go of what is given up while it waits', async () => {
    const pool = createWorkPool({ slots: 1, maxWaiting: 1, maxWaitMs: 60_000 });
    const [running, given, next] = [aWork(), aWork(), aWork()];
    const first = pool.run(running.work, { owner, signal });
    const left = new AbortController();
    const second = pool.run(given.work, { owner, signal: left.signal });
    left.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    const third = pool.run(next.work, { owner, signal });
    running.end();
    next.end();
    expect(await Promise.all([first, third])).toEqual(['done', 'done']);
    expect(given.hasBegun()).toBe(false);
  });

  it('goes on after work that fails', async () => {
    const pool = createWorkPool({ slots: 1, maxWaiting: 0, maxWaitMs: 60_000 });
    const failing = () => Promise.reject(new Error('failed'));
    await expect(pool.run(failing, { owner, signal })).rejects.toThrow('failed');
    await expect(pool.run(async () => 1, { owner, signal })).resolves.toBe(1);
  });

  it.each([
    [1, ['hoarder', 'backend', 'hoarder', 'sibling', 'other', 'hoarder', 'hoarder']],
    [3, ['hoarder', 'hoarder', 'sibling', 'backend', 'other', 'hoarder', 'hoarder']],
  ])(
    'of %i slots serves backends first, then who has least, and leaves the last slot to others',
    async (slots, turns) => {
      const pool = createWorkPool({ slots, maxWaiting: 9, maxWaitMs: 60_000 });
      const begun: string[] = [];
      const ends: (() => void)[] = [];
      const run = (name: string, of?: typeof owner): void => {
        const work = () => {
          begun.push(name);
          return new Promise<void>((resolve) => ends.push(resolve));
        };
        void pool.run(work, { ...(of && { owner: of }), signal });
      };
      for (let nth = 0; nth < 4; nth += 1) run('hoarder', owner);
      run('sibling', { workspaceId: 'ws_1', keyId: 'key_2' });
      run('other', { workspaceId: 'ws_2', keyId: 'key_3' });
      run('backend');
      for (let turn = 0; turn < turns.length; turn += 1) {
        await setImmediate();
        ends.shift()?.();
      }
      await setImmediate();
      expect(begun).toEqual(turns);
      expect(pool.load).toEqual({ running: 0, waiting: 0 });
    },
  );
});
