import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aTemporaryFolder } from '@turnpike/test-support/folders';

let dir: string;
beforeEach(async () => {
  dir = await aTemporaryFolder();
});
afterEach(() => rm(dir, { recursive: true }));

const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

it('lets a process end on SIGTERM while its disk hangs', async () => {
  const fifo = join(dir, 'fifo');
  execFileSync('mkfifo', [fifo]);
  // To open a pipe that has no writer keeps a thread as a flush does that hangs.
  const script = `
    import { open } from 'node:fs/promises';
    const { Spool } = await import(${urlOf('./spool.ts')});
    const { closeSpool } = await import(${urlOf('./spool.ts')});
    const { createShutdown } = await import(${urlOf('../../../lifecycle/src/createShutdown.ts')});
    const log = { error() {}, warn() {}, info() {} };
    const options = { dir: ${JSON.stringify(join(dir, 'spool'))}, maxBytes: 1e6, log, idOf: (json) => json };
    const { spool } = await Spool.open(options);
    const shutdown = createShutdown({ log });
    shutdown.defer('last', () => process.stdout.write('last step\\n'));
    shutdown.defer('spool', () => closeSpool(spool));
    shutdown.onSignals();
    const handle = await open(${JSON.stringify(dir)}, 'r');
    Object.getPrototypeOf(handle).datasync = () => open(${JSON.stringify(fifo)}, 'r');
    await handle.close();
    await spool.append('"one"', '"one"');
    const looking = setInterval(() => {
      if (!spool.isHung) return;
      clearInterval(looking);
      process.kill(process.pid, 'SIGTERM');
    }, 20);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += String(text);
  });
  const [, signal] = await once(child, 'exit');
  expect(said).toBe('last step\n');
  expect(signal).toBe('SIGKILL');
});
