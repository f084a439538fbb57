import { hash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTinyModel } from './tinyModel.ts';

/**
 * The path of the model file for `seed` below `stateDir`, written if it is not there yet. Its name holds a hash of what is
 * in it, so a file of another seed, or of another version of this code, is never taken for it.
 */
export async function writeTinyModel({ stateDir, seed }: { stateDir: string; seed: number }): Promise<string> {
  const bytes = makeTinyModel(seed);
  const path = join(stateDir, `tiny-model-${hash('sha256', bytes).slice(0, 16)}.gguf`);
  if (existsSync(path)) return path;
  await mkdir(stateDir, { recursive: true });
  // Under its name only once it is whole: another process may start at the same moment, or this one be killed.
  const unfinishedPath = `${path}.${randomUUID()}`;
  await writeFile(unfinishedPath, bytes);
  await rename(unfinishedPath, path);
  return path;
}
