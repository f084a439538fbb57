import { readdirSync, readFileSync } from 'node:fs';

const TICK_MS = 10;

/** The cost of child processes since `watchChildren`. */
export interface ChildrenCost {
  processorMs: number;
  /** Most resident memory of any of them. */
  peakMiB: number;
}

/** Watches the processes that this process starts; the function ends that. Processor time is that of those that have ended. */
export function watchChildren(): () => ChildrenCost {
  const before = endedMs();
  let peakKib = 0;
  const timer = setInterval(() => {
    for (const pid of listChildren()) peakKib = Math.max(peakKib, readPeakKib(pid));
  }, 10);
  return () => {
    clearInterval(timer);
    return { processorMs: endedMs() - before, peakMiB: Math.round(peakKib / 1_024) };
  };
}

/** Processor time of children that have ended, as the kernel adds it up. */
function endedMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

const listChildren = (): string[] =>
  readdirSync('/proc/self/task').flatMap((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean);
    } catch {
      return [];
    }
  });

function readPeakKib(pid: string): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
