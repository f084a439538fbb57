import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';

/** A spool folder that is this process' alone. */
export interface SpoolFolder {
  /** Lies in the folder: a router that comes back to it is the same router. */
  routerId: string;
  /** Lets another process have the folder. */
  release(): Promise<void>;
}

const ID_FILE = 'router-id';
const ID_PATTERN = /^[0-9a-f-]{36}$/;

/**
 * Makes the folder where missing and takes it for this process. Throws one clear line when another process has it: two
 * routers on one spool would send each other's events and delete them.
 */
export async function openSpoolFolder(dir: string): Promise<SpoolFolder> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(dir);
  try {
    return {
      routerId: await readRouterId(dir),
      async release() {
        lock.close();
        await once(lock, 'close');
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/**
 * The lock is a listener on an abstract socket named after the folder itself, whatever path leads to it. The kernel lets one
 * process have it and takes it back when that process ends, however it ends: no lock is ever stale.
 */
async function lockFolder(dir: string): Promise<Server> {
  const { dev, ino } = await stat(dir);
  const lock = createServer((socket) => socket.destroy());
  lock.unref();
  lock.listen(`\0turnpike-spool-${dev}-${ino}`);
  try {
    await once(lock, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`another router uses the spool in ${dir}: stop it, or give this one a SPOOL_DIR of its own`, {
      cause: error,
    });
  }
  return lock;
}

async function readRouterId(dir: string): Promise<string> {
  const path = join(dir, ID_FILE);
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (ID_PATTERN.test(known)) return known;
  // A file cut short by a crash tells no more than a missing one: the router is a new one.
  const routerId = randomUUID();
  await writeFile(path, routerId, { mode: 0o600 });
  return routerId;
}
