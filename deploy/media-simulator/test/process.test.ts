import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { until } from '@turnpike/test-support/until';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function start(env: Record<string, string>) {
  const path = process.env.PATH ?? '';
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: path, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  cleanUps.push(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const exit = Promise.all([once(child, 'exit'), child.stderr && once(child.stderr, 'close')]);
  return { child, exit: exit.then(([[code]]) => ({ code, stderr })) };
}

async function aSetting(): Promise<Record<'PORT' | 'ADMIN_PORT' | 'PERSONALITY' | 'MODEL' | 'DATA_DIR', string>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnpike-media-'));
  cleanUps.push(() => rm(dataDir, { recursive: true }));
  const [port, adminPort] = [await findFreePort(), await findFreePort()];
  return { PORT: `${port}`, ADMIN_PORT: `${adminPort}`, PERSONALITY: 'sglang', MODEL: 'm', DATA_DIR: dataDir };
}

describe('the process', () => {
  it.each([
    ['nothing', {}, /PORT: is not set\n\s+ADMIN_PORT: is not set\n\s+PERSONALITY: is not set/],
    ['a stranger', { PERSONALITY: 'comfyui' }, /PERSONALITY: /],
    ['no JSON', { KNOBS: '{' }, /KNOBS: must be a JSON object of knobs/],
    ['a wrong knob', { KNOBS: '{"slots": 0}' }, /KNOBS: slots: /],
    ['an unknown knob', { KNOBS: '{"speed": 1}' }, /KNOBS: .*speed/],
  ])('told %s says what is wrong and ends', async (_case, env, message) => {
    const { code, stderr } = await start(env as Record<string, string>).exit;
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('    at ');
  });

  it('ends on SIGTERM', async () => {
    const { child, exit } = start(await aSetting());
    expect(await once(child, 'message')).toEqual([{ type: 'ready' }, undefined]);
    child.kill('SIGTERM');
    expect((await exit).code).toBe(0);
  });

  it('that was killed knows again what it did, and which render was lost', async () => {
    const setting = { ...(await aSetting()), KNOBS: '{"renderBaseMs": 60000}' };
    const { child } = start(setting);
    await once(child, 'message');
    const body = new FormData();
    body.append('prompt', 'a fox');
    body.append('size', '64x48');
    await fetch(`http://127.0.0.1:${setting.PORT}/v1/videos`, { method: 'POST', body });
    child.kill('SIGKILL');
    await once(child, 'exit');
    const next = start(setting);
    await once(next.child, 'message');
    const log = await until('the log', async () =>
      (await fetch(`http://127.0.0.1:${setting.ADMIN_PORT}/admin/log`)).json(),
    );
    expect(log).toMatchObject({
      totals: { requests: 1, rendersOrdered: 1, rendersStarted: 1, rendersFinished: 0, rendersLost: 1 },
      renders: [{ prompt: 'a fox', state: 'lost' }],
    });
  });
});
