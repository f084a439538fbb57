import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { startTestSimulator } from './support/testSimulator.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  cleanUps.push(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  // Waits for `exit`, because the child's `close` never comes after its channel was disconnected from this side.
  const exit = Promise.all([once(child, 'exit'), child.stderr && once(child.stderr, 'close')]);
  return { child, exit: exit.then(([[code]]) => ({ code, stderr })) };
}

const freePorts = async () => ({ adminPort: String(await findFreePort()), port: await findFreePort() });

describe('the process', () => {
  it.each([
    ['nothing', {}, /ADMIN_PORT: is not set\n\s+SIMULATOR_ENGINES: is not set/],
    ['no JSON', { SIMULATOR_ENGINES: '[' }, /SIMULATOR_ENGINES: must be a JSON list of engines/],
    ['no engine', { SIMULATOR_ENGINES: '[]' }, /must name at least one engine/],
    [
      'a wrong knob',
      { SIMULATOR_ENGINES: '[{"port":1,"servedModelNames":["m"],"interTokenMs":-1}]' },
      /0\.interTokenMs: /,
    ],
    ['an unknown knob', { SIMULATOR_ENGINES: '[{"port":1,"servedModelNames":["m"],"speed":1}]' }, /speed/],
    [
      'a cache too small',
      { SIMULATOR_ENGINES: '[{"port":1,"servedModelNames":["m"],"numKvBlocks":1}]' },
      /0\.numKvBlocks: must hold/,
    ],
  ])('told %s says what is wrong and ends', async (_case, env, message) => {
    const { code, stderr } = await start(env).exit;
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('    at ');
  });

  it.each([
    ['SIGTERM', (kill: (signal: 'SIGTERM') => unknown) => kill('SIGTERM')],
    ['its parent going away', (_kill: unknown, disconnect: () => void) => disconnect()],
  ])('says when it is ready, serves, and ends on %s', async (_case, end) => {
    const { adminPort, port } = await freePorts();
    const engines = JSON.stringify([{ port, servedModelNames: ['m'] }]);
    const { child, exit } = start({ ADMIN_PORT: adminPort, SIMULATOR_ENGINES: engines });
    expect(await once(child, 'message')).toEqual([{ type: 'ready' }, undefined]);
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
    end(
      (signal) => child.kill(signal),
      () => child.disconnect(),
    );
    expect((await exit).code).toBe(0);
  });

  it('says which port is taken', async () => {
    const other = await startTestSimulator();
    cleanUps.push(() => other.close());
    const port = Number(new URL(other.url).port);
    const { adminPort } = await freePorts();
    const engines = JSON.stringify([{ port, servedModelNames: ['m'] }]);
    const { code, stderr } = await start({ ADMIN_PORT: adminPort, SIMULATOR_ENGINES: engines }).exit;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `engine-simulator cannot listen on 127.0.0.1:${port}: EADDRINUSE\n`,
    });
  });
});
