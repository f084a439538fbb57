import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, it } from '@jest/globals';

/** A process whose last step waits for a line on its standard input. */
const PROGRAM = `
  import { once } from 'node:events';
  import { createShutdown } from '${new URL('./createShutdown.ts', import.meta.url).href}';
  const shutdown = createShutdown({ log: { info() {}, error() {} } });
  const say = (text) => process.stdout.write(text + '\\n');
  shutdown.defer('first opened', () => say('first opened is closed'));
  shutdown.defer('last opened', async () => {
    say('last opened is closing');
    await once(process.stdin, 'data');
    say('last opened is closed');
  });
  shutdown.onSignals();
  setInterval(() => {}, 60_000); // what a server does: it keeps the process
  say('up');
`;

it('closes what was opened last first, and goes on with that when it is told to stop once more', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const exited = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line === 'up') child.kill('SIGTERM');
    if (line !== 'last opened is closing') continue;
    child.kill('SIGTERM');
    child.stdin.write('\n');
  }
  expect(await exited).toEqual([0, null]);
  expect(lines).toEqual(['up', 'last opened is closing', 'last opened is closed', 'first opened is closed']);
});
