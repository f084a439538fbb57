import type { Spool } from './spool.ts';

/** Closes the spool for the process' end. Rejects where its disk hangs, and lets the process end all the same. */
export async function closeSpool(spool: Pick<Spool, 'close' | 'isHung'>): Promise<void> {
  try {
    await spool.close();
  } finally {
    // Node waits at its exit for all threads of its pool, so also for one that hangs. SIGKILL waits for none.
    if (spool.isHung) process.once('exit', () => spool.isHung && process.kill(process.pid, 'SIGKILL'));
  }
}
