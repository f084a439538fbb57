import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeTinyModel } from './tinyModel.ts';
import { writeTinyModel } from './writeTinyModel.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tiny-model-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('writeTinyModel', () => {
  it('writes the same bytes for the same seed, and others for another', async () => {
    const path = await writeTinyModel({ stateDir: join(folder, 'new'), seed: 7 });
    expect((await readFile(path)).equals(makeTinyModel(7))).toBe(true);
    expect(makeTinyModel(8).equals(makeTinyModel(7))).toBe(false);
  });

  it('writes a file once', async () => {
    const path = await writeTinyModel({ stateDir: folder, seed: 7 });
    const { ino } = await stat(path);
    expect(await writeTinyModel({ stateDir: folder, seed: 7 })).toBe(path);
    expect((await stat(path)).ino).toBe(ino);
  });

  it('leaves nothing unfinished when several start at once', async () => {
    const paths = await Promise.all(Array.from({ length: 4 }, () => writeTinyModel({ stateDir: folder, seed: 7 })));
    expect(new Set(paths).size).toBe(1);
    expect(await readdir(folder)).toHaveLength(1);
  });
});
