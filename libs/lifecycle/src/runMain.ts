import { setFlagsFromString } from 'node:v8';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs a process' `main`, and keeps the process alive until `main` ends. Otherwise Node would end a process that waits
 * only for something without an open handle, such as a connection between two attempts. A rejection is printed as one line and ends the process with code 1, and
 * the orchestrator starts it again. Notifies a parent with an IPC channel when the process is ready.
 */
export function runMain(main: () => Promise<void>): void {
  // V8 allocates objects in the old generation if earlier ones of their kind survived two collections, and never
  // reverts that. Slow calls while a process starts would cause that for parts of calls. Each part then keeps the rest
  // of its call until V8 collects the whole heap.
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
