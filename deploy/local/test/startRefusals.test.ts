import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../src/repositoryRoot.ts';
import { findFreePortBase } from './findFreePortBase.ts';
import { runStart } from './startCommand.ts';

// parseStartArguments.test.ts and parsePortBase.test.ts have the other wrong ones.
it('refuses an option that it does not have, and lists what there is', async () => {
  const start = runStart(['--region=us'], {});

  expect(await start.exited).toBe(1);
  expect(start.output()).toMatch(/^.*The options are --regions, --kafka, --s3, --engine, --restart and --help\.\n$/);
});

it('refuses a PORT_BASE that is no port in one line', async () => {
  const start = runStart([], { PORT_BASE: '70000' });

  expect(await start.exited).toBe(1);
  expect(start.output()).toMatch(/^PORT_BASE is ".*" *, but it has to be a whole number from 1024 to 65000.*\n$/);
});

it('restarts nothing where no stack runs', async () => {
  const portBase = await findFreePortBase(28_300);
  const start = runStart(['--restart', 'auth'], { PORT_BASE: String(portBase) });

  expect(await start.exited).toBe(1);
  expect(start.output()).toBe(`No stack runs on port ${portBase}. PORT_BASE names another one.\n`);
});

it('explains itself', async () => {
  const start = runStart(['--help'], {});

  expect(await start.exited).toBe(0);
  expect(start.output()).toContain('PORT_BASE');
});

describe('where a foreign process has taken a port', () => {
  let server: Server;
  let portBase: number;
  beforeEach(async () => {
    ({ server, portBase } = await listenWithinAStack());
  });
  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(join(repositoryRoot, '.turnpike', String(portBase)), { recursive: true, force: true });
  });

  it('names the port, and what it is for', async () => {
    const start = runStart([], { PORT_BASE: String(portBase) });

    expect(await start.exited).toBe(1);
    expect(start.output()).toContain(`Port ${portBase + 4}, for catalog, is in use by another process.`);
    expect(start.output()).toContain(`PORT_BASE=${portBase + 100} npm start`);
  });
});

/** Takes the port of a stack's catalog, somewhere below the ports that the system hands out by itself. */
async function listenWithinAStack(): Promise<{ server: Server; portBase: number }> {
  for (let portBase = 29_000; ; portBase += 100) {
    const server = createServer();
    const isListening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(portBase + 4, '127.0.0.1', () => resolve(true));
    });
    if (isListening) return { server, portBase };
  }
}
