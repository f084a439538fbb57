import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once `isTrue` answers true; it is asked until then, for at most 10 s. */
export async function waitFor(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error('what was waited for did not happen within 10 s');
    await sleep(5);
  }
}
