/**
 * Runs a process' `main`: a rejection is printed as one line and ends the process with code 1,
 * and the orchestrator starts it again. Tells a parent with an IPC channel when the process is ready.
 */
export function runMain(main: () => Promise<void>): void {
  main().then(
    () => process.send?.({ type: 'ready' }),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
}
