import { setTimeout as delay } from 'node:timers/promises';

/** Waits for a condition. Rejects when it does not come about within 15 s. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + 15_000;
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error(`never came about: ${isSo}`);
    await delay(20);
  }
}
