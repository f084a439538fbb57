import { setTimeout as pause } from 'node:timers/promises';
import { readProcessorTime } from './readProcess.ts';

/** Processes that use less than this of a core in each of some looks have nothing left to do but their rounds. */
const IDLE_SHARE = 0.1;
const LOOK_MS = 100;
const LOOKS = 3;
const TIMEOUT_MS = 60_000;

/** Resolves when these processes together do little: what calls leave behind is done. Asking them would be work of its own. */
export async function untilIdle(pids: number[], mostShare = IDLE_SHARE): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  const readAll = () => pids.reduce((sum, pid) => sum + readProcessorTime(pid), 0);
  let last = readAll();
  for (let looks = 0; looks < LOOKS; ) {
    if (performance.now() > deadline) throw new Error('the ledger goes on working though no call comes');
    await pause(LOOK_MS);
    const now = readAll();
    looks = now - last < mostShare * LOOK_MS * 1_000 ? looks + 1 : 0;
    last = now;
  }
}
