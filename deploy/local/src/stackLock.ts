import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { StackError } from './stackError.ts';

const lockSchema = z.object({
  pid: z.number().int(),
  started_at: z.string(),
  /** When the kernel started the process, in its own ticks: tells it from a later one that got the same number. */
  start_ticks: z.string(),
});

export interface StackLock {
  /** Whether an earlier launcher died without giving the lock back, so that its parts may be ending only now. */
  wasAbandoned: boolean;
  release(): Promise<void>;
}

/**
 * Makes this process the only launcher on a state directory. Throws a `StackError` that says which one runs there
 * already, since when, and what can be done.
 */
export async function takeStackLock(stateDir: string, { portBase }: { portBase: number }): Promise<StackLock> {
  await mkdir(stateDir, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new StackError(`${stateDir} cannot be made (${error.code}): the stack keeps its data there.`, {
      cause: error,
    });
  });
  const file = join(stateDir, 'launcher.json');
  const own = {
    pid: process.pid,
    started_at: new Date().toISOString(),
    start_ticks: findStartTicks(process.pid) ?? '',
  };
  const write = () => writeFile(file, `${JSON.stringify(own)}\n`, { flag: 'wx' });
  const release = () => rm(file, { force: true });
  try {
    await write();
    return { wasAbandoned: false, release };
  } catch {
    const holder = await findHolder(file);
    if (holder) throw alreadyRuns(holder, portBase);
    await release();
    await write().catch((error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EEXIST' ? 'another stack is starting there' : `the directory refuses it (${error.code})`;
      throw new StackError(`${file} cannot be written: ${why}.`, { cause: error });
    });
    return { wasAbandoned: true, release };
  }
}

function alreadyRuns({ pid, started_at }: z.infer<typeof lockSchema>, portBase: number): StackError {
  const since = started_at.slice(0, 19).replace('T', ' ');
  return new StackError(
    `A stack already runs on port ${portBase}: pid ${pid}, since ${since} UTC. Stop it with Ctrl-C where it runs, or with: kill ${pid}\nTo run another one beside it, choose other ports: PORT_BASE=${portBase + 100} npm start`,
  );
}

async function findHolder(file: string): Promise<z.infer<typeof lockSchema> | undefined> {
  try {
    const lock = lockSchema.parse(JSON.parse(await readFile(file, 'utf8')));
    return findStartTicks(lock.pid) === lock.start_ticks ? lock : undefined;
  } catch {
    return undefined; // unreadable: nobody's
  }
}

/** Field 22 of proc_pid_stat(5), counted behind the command name, which may hold spaces. Undefined: no such process. */
function findStartTicks(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
