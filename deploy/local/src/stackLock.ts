import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { access, mkdir, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { REGIONS } from '@turnpike/config/region';
import { z } from 'zod';
import { StackError } from './stackError.ts';
import { PORTS_PER_REGION } from './stackPorts.ts';

const launcherSchema = z.object({ pid: z.number().int(), started_at: z.string() });

export interface StackLock {
  /** Whether an earlier launcher died without releasing the lock, so that its parts may still be ending. */
  wasAbandoned: boolean;
  release(): Promise<void>;
}

/**
 * Makes this process the only launcher on a state directory. Throws a `StackError` that names the running launcher, its
 * start, and the next steps.
 *
 * The lock is a socket in the abstract namespace of unix(7), named after the directory. The kernel gives a name to one
 * process, and frees it at every kind of end. The file beside it tells operators who has the lock. A leftover file
 * tells the next launcher that the last one did not clean up.
 */
export async function takeStackLock(stateDir: string, { portBase }: { portBase: number }): Promise<StackLock> {
  await mkdir(stateDir, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new StackError(`${stateDir} cannot be made (${error.code}): the stack keeps its data there.`, {
      cause: error,
    });
  });
  const file = join(stateDir, 'launcher.json');
  const socket = await takeName(
    `\0turnpike-${createHash('sha256')
      .update(await realpath(stateDir))
      .digest('hex')}`,
  );
  if (!socket) throw alreadyRuns(file, portBase);

  const giveBack = async () => {
    await rm(file, { force: true });
    socket.close();
    await once(socket, 'close');
  };
  const wasAbandoned = await access(file).then(
    () => true,
    () => false,
  );
  try {
    await writeFile(file, `${JSON.stringify({ pid: process.pid, started_at: new Date().toISOString() })}\n`);
  } catch (error) {
    socket.close();
    const { code } = error as NodeJS.ErrnoException;
    throw new StackError(`${file} cannot be written: the directory refuses it (${code}).`, { cause: error });
  }
  return { wasAbandoned, release: giveBack };
}

/** Returns undefined if another process has the name. */
async function takeName(name: string): Promise<Server | undefined> {
  const server = createServer((peer) => peer.destroy()).unref();
  try {
    await once(server.listen(name), 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

function alreadyRuns(file: string, portBase: number): StackError {
  const beside = `To run another one beside it, choose other ports: PORT_BASE=${portBase + PORTS_PER_REGION * REGIONS.length} npm start`;
  const launcher = readLauncher(file);
  if (!launcher) return new StackError(`Another stack is starting on port ${portBase}.\n${beside}`);
  const since = launcher.started_at.slice(0, 19).replace('T', ' ');
  return new StackError(
    `A stack already runs on port ${portBase}: pid ${launcher.pid}, since ${since} UTC. Stop it with Ctrl-C where it runs, or with: kill ${launcher.pid}\n${beside}`,
  );
}

/** Returns undefined if the launcher with the lock has not written the file yet. */
function readLauncher(file: string): z.infer<typeof launcherSchema> | undefined {
  try {
    return launcherSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}
