import { expect, it } from '@jest/globals';
import { atOnce, inSlices, type Steps } from './scanJson.ts';

/** Work of so many steps, each of which takes so long. */
function* work(steps: number, ms: number): Steps<string> {
  for (let step = 0; step < steps; step += 1) {
    const endsAt = performance.now() + ms;
    while (performance.now() < endsAt);
    yield;
  }
  return 'done';
}

it('lets everything else have its turn between the slices of a work', async () => {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  expect(await inSlices(work(20, 0.6))).toBe('done');
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(19);
});

it('does not pause in work that is short, and throws what it throws', async () => {
  expect(atOnce(work(3, 0))).toBe('done');
  // biome-ignore lint/correctness/useYield: it throws before it could.
  function* failing(): Steps<void> {
    throw new Error('wrong');
  }
  expect(() => atOnce(failing())).toThrow('wrong');
  await expect(inSlices(failing())).rejects.toThrow('wrong');
});
