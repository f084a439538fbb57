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
