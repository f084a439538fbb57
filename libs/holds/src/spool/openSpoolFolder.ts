import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A spool folder that is this process' alone. */
export interface SpoolFolder {
  /** Lies in the folder: an owner that comes back to it is the same owner. */
  owner: string;
  /** Lets another process have the folder. */
  release(): Promise<void>;
}

const LOCK_FILE = 'lock';
/** The exit status of `flock -n` when another process has the lock. */
const HELD_STATUS = 1;
const ID_FILE = 'owner';
const ID_PATTERN = /^[0-9a-f-]{36}$/;

/**
 * Makes the folder where missing and takes it for this process. Throws one clear line when another process has it: two
 * owners on one spool would send each other's events and delete them.
 */
export async function openSpoolFolder(dir: string): Promise<SpoolFolder> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const lock = lockFolder(dir);
  try {
    return {
      owner: await readOwner(dir),
      release: async () => closeSync(lock),
    };
  } catch (error) {
    closeSync(lock);
    throw error;
  }
}

/**
 * Locks the folder with `flock` on a file in it, so that the lock holds over any path, mount or container. The lock
 * belongs to this process' open file. The command that takes it ends at once, and the kernel releases it when this
 * process ends. No lock is ever stale. The file stays, because two processes could otherwise each lock a file of that
 * name.
 */
function lockFolder(dir: string): number {
  // For writing: a network file system locks no other. A bare number, since a file handle that nobody keeps is closed by itself.
  const lock = openSync(join(dir, LOCK_FILE), 'a', 0o600);
  try {
    takeLock(lock, dir);
    return lock;
  } catch (error) {
    closeSync(lock);
    throw error;
  }
}

/** Node has no `flock` of its own. */
function takeLock(fd: number, dir: string): void {
  const { error, status, stderr } = spawnSync('flock', ['-x', '-n', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
    encoding: 'utf8',
  });
  if (error)
    throw new Error('the spool cannot be locked: the command flock (of util-linux or BusyBox) does not run', {
      cause: error,
    });
  if (status === 0) return;
  if (status === HELD_STATUS && stderr === '')
    throw new Error(`another process uses the spool in ${dir}: stop it, or give this one a SPOOL_DIR of its own`);
  throw new Error(`the spool in ${dir} cannot be locked (flock, status ${status}): ${stderr.trim()}`);
}

async function readOwner(dir: string): Promise<string> {
  const path = join(dir, ID_FILE);
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (ID_PATTERN.test(known)) return known;
  // A file cut short by a crash tells no more than a missing one: the owner is a new one.
  const owner = randomUUID();
  await writeFile(path, owner, { mode: 0o600 });
  return owner;
}
