import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts the time of ended children in hundredths of a second. */
const US_PER_TICK = 10_000;

/** The processor time that a process and its children have had so far, those that have ended too, µs. 0 of one that has ended. */
export function readProcessorTime(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + ownTimeOf(each) + endedChildrenTimeOf(each), 0);
}

function endedChildrenTimeOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Behind the name, which may have spaces and brackets: the state is the first, and the two times the 14th and 15th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[13]) + Number(fields[14])) * US_PER_TICK;
  } catch {
    return 0;
  }
}

/** The memory that a process and its children have of their own, and that no file backs, bytes. */
export function readMemory(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + ownMemoryOf(each), 0);
}

function ownMemoryOf(pid: number): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
}

/** Sums the time of all threads by the scheduler's own count, which is finer than the ticks of `stat`. */
function ownTimeOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
      const [ns = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ');
      return sum + Number(ns) / 1_000;
    }, 0);
  } catch {
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const children = threads.flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
    return children.flatMap((child) => [child, ...childrenOf(child)]);
  } catch {
    return [];
  }
}
