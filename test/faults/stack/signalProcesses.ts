import { readdirSync, readFileSync } from 'node:fs';

/**
 * Signals a process, its group and all its descendants, because Postgres gives each of its processes a group of its own. Parents come
 * first, so that they start no process meanwhile. Returns the ids of the signaled processes.
 */
export function signalProcesses(pid: number, signal: NodeJS.Signals): number[] {
  signalIfThere(-pid, signal);
  const signalled = [pid];
  for (const parent of signalled) {
    for (const child of childrenOf(parent)) {
      signalIfThere(child, signal);
      signalled.push(child);
    }
  }
  return signalled;
}

/** SIGKILL to the same, all of them frozen first: the children of one that is gone are nobody's. Answers whom it found. */
export function killProcesses(pid: number): number[] {
  const found = signalProcesses(pid, 'SIGSTOP');
  for (const target of [-pid, ...found]) signalIfThere(target, 'SIGKILL');
  return found;
}

/** Whether any of the processes is still there; one that has ended and was not yet waited for is not. */
export function isAnyAlive(pids: readonly number[]): boolean {
  return pids.some((pid) => {
    const stat = readStat(pid);
    return stat !== undefined && stat.state !== 'Z';
  });
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  return pids.filter((pid) => readStat(pid)?.parent === parent);
}

/**
 * Reads the state of a process from Linux; undefined if there is none. The name, which may hold anything, ends at the last
 * bracket.
 */
function readStat(pid: number): { state: string; parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
