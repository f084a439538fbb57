import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { spawnTinyEngine, startTinyEngine } from './support/startTinyEngine.ts';

const STATE_DIR = mkdtempSync(join(tmpdir(), 'tiny-engine-'));
afterAll(() => rmSync(STATE_DIR, { recursive: true }));

/** Makes every platform's llama.cpp look as if it were not installed. */
const WITHOUT_PLATFORM_PACKAGES = `data:text/javascript,
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith('@node-llama-cpp/')) throw new Error('not installed');
      return next(specifier, context);
    },
  });`;

describe('the process', () => {
  it('without configuration names every variable it lacks, and ends', async () => {
    const { code, stderr } = await spawnTinyEngine({}).exit;
    expect(code).toBe(1);
    expect(stderr).toMatch(/PORT: .*\n\s+STATE_DIR: is not set\n$/);
  });

  it('without llama.cpp for its platform says so in one line, and ends', async () => {
    const hook = `--import=${encodeURI(WITHOUT_PLATFORM_PACKAGES)}`;
    const { code, stderr } = await spawnTinyEngine({ PORT: '65535', STATE_DIR }, [hook]).exit;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^tiny-engine cannot start: .*@node-llama-cpp\/\S+\n$/);
  });

  it('says which port is taken, and ends', async () => {
    const other = await startTinyEngine();
    const { port } = new URL(other.url);
    const { code, stderr } = await spawnTinyEngine({ PORT: port, STATE_DIR }).exit;
    await other.stop();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `tiny-engine cannot listen on 127.0.0.1:${port}: EADDRINUSE\n`,
    });
  });
});
