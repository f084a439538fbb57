import { writeFile } from 'node:fs/promises';

/**
 * Sets the weight of this process' session, from -20 (much) to 19 (little), as for a process: Linux divides processor time among
 * sessions first. A stack's parts are a session each, and a process with all that it starts in its own session counts as one of them.
 * Weights above the usual one are for root. Where they cannot be set, all goes on as before.
 */
export async function weighSession(nice: number): Promise<void> {
  await writeFile('/proc/self/autogroup', String(nice)).catch(() => undefined);
}
