import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Returns a folder of this name in the user's cache, made once per machine. It is made under another name and renamed
 * when complete, so that an interrupted one never looks complete.
 */
export async function makeOnce(name: string, make: (folder: string) => Promise<unknown>): Promise<string> {
  const folder = join(homedir(), '.cache', 'turnpike', name);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.partial-${process.pid}`;
  try {
    await mkdir(partial, { recursive: true });
    await make(partial);
    await rename(partial, folder);
  } catch (error) {
    // A program that was ended may still write for a moment.
    await rm(partial, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    if (!existsSync(folder)) throw error; // unless another process has made it meanwhile
  }
  return folder;
}

/** A short name of a content: another content gets another folder. */
export const toShortHash = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 12);
