import type { ChildProcess } from 'node:child_process';

/** Has a program end when this process does, by a signal too: `main.ts` exits on those that can be caught. */
export function endWithProcess(child: ChildProcess): void {
  const end = () => void child.kill();
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
}
