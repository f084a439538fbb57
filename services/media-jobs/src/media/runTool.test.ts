import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { createMedia } from './createMedia.ts';
import { runTool } from './runTool.ts';

const { PATH } = process.env;
afterEach(() => {
  process.env.PATH = PATH;
});
const limits = { wallMs: 30_000, cpuSeconds: 10, memoryBytes: 2 ** 28 };
const { signal } = new AbortController();

it('says of a tool that refuses its work that it failed', async () => {
  await expect(
    runTool({ tool: 'ffprobe', args: ['-no-such-option'], files: [], limits, signal }),
  ).resolves.toMatchObject({
    outcome: 'failed',
  });
});

it('blames no file where a tool is not there, and does not begin without one', async () => {
  const folder = await aTemporaryFolder();
  for (const tool of ['setpriv', 'prlimit']) {
    const found =
      (PATH ?? '')
        .split(':')
        .map((entry) => join(entry, tool))
        .find(existsSync) ?? tool;
    await symlink(found, join(folder, tool));
  }
  process.env.PATH = folder;
  const run = runTool({ tool: 'ffprobe', args: ['-version'], files: [], limits, signal });
  await expect(run).rejects.toThrow('ffprobe cannot be run');
  await expect(createMedia({ folder: join(folder, 'media') })).rejects.toThrow('ffmpeg cannot be run');
});
