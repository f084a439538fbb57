import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const run = (main: string) =>
  promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { runMain } from '${import.meta.resolve('./runMain.ts')}';\nrunMain(async () => { ${main} });`,
  ]);

it('keeps the process alive while it starts, though nothing else does', async () => {
  const waiting = 'await new Promise((resolve) => setTimeout(resolve, 100).unref()); console.log("started");';
  expect((await run(waiting)).stdout).toBe('started\n');
});

it('says in one line why a process could not start, and ends it with code 1', async () => {
  const failing = run('throw new Error("no settings");');
  await expect(failing).rejects.toMatchObject({ code: 1, stderr: 'no settings\n' });
});

it('has V8 make new objects where they are collected soon, also where their like lived long while the process started', async () => {
  const program = `
    const { getHeapSpaceStatistics } = await import('node:v8');
    const oldMb = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space').space_used_size / 1e6;
    const turn = () => new Promise(setImmediate);
    const make = (nth) => ({ call: { nth, of: [nth] }, text: 'call ' + nth });
    const kept = [];
    for (let round = 0; round < 100; round += 1) {
      for (let nth = 0; nth < 5_000; nth += 1) kept.push(make(nth));
      await turn();
    }
    kept.length = 0;
    await turn();
    const before = oldMb();
    let most = 0;
    for (let round = 0; round < 400; round += 1) {
      for (let nth = 0; nth < 5_000; nth += 1) make(nth);
      await turn();
      most = Math.max(most, oldMb() - before);
    }
    console.log(most);`;
  // All that is made then is some 300 MB, of which 36 and more were in the old generation where that is not so.
  expect(Number((await run(program)).stdout)).toBeLessThan(30);
});
