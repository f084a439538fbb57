import { setFlagsFromString } from 'node:v8';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs a process' `main`, and keeps the process alive until that is over, though it may wait for nothing but what comes back by
 * itself, such as a store. A rejection is printed as one line and ends the process with code 1,
 * and the orchestrator starts it again. Tells a parent with an IPC channel when the process is ready.
 */
export function runMain(main: () => Promise<void>): void {
  // V8 makes objects in the old generation whose like outlived two collections, and does so for good. Where calls take long while a
  // process starts, that is what it makes of parts of calls; and each keeps the rest of its call until the whole heap is collected.
  setFlagsFromString('--no-allocation-site-pretenuring');
  const living = setTimeout(() => {}, LONGEST_TIMER_MS);
  const over = main().finally(() => clearTimeout(living));
  over.then(
    () => process.send?.({ type: 'ready' }),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
}
