import type { ChildProcess } from 'node:child_process';

/** Ends a program when this process ends, by a signal too: `main.ts` exits on those that can be caught. */
export function endWithProcess(child: ChildProcess): void {
  const end = () => void child.kill();
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
}
