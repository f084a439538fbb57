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

it('has V8 allocate new objects in the young generation, also where their like lived long while the process started', async () => {
  // V8 decides for each place in the code that makes objects, and not always alike: hence eight of them.
  const program = `
    (await import('node:v8')).setFlagsFromString('--allow-natives-syntax');
    const isYoung = new Function('made', 'return %InYoungGeneration(made)');
    let old = 0;
    for (let place = 0; place < 8; place += 1) {
      const make = new Function('nth', 'return { call: { nth, of: [nth] }, place: ' + place + ' }');
      const kept = [];
      for (let round = 0; round < 40; round += 1) {
        for (let nth = 0; nth < 5_000; nth += 1) kept.push(make(nth));
        await new Promise(setImmediate);
      }
      for (let nth = 0; nth < 5_000; nth += 1) {
        const made = make(nth);
        if (![made, made.call, made.call.of].every(isYoung)) old += 1;
      }
    }
    console.log(old);`;
  // Without the flag some 25,000 of 40,000 are old.
  expect((await run(program)).stdout).toBe('0\n');
});
