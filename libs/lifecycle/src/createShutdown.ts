import type { Logger } from '@turnpike/logging/createLogger';

export interface Shutdown {
  /**
   * Registers how a thing just opened is closed. Steps run in reverse order of registration, each for 10 s at most, or as
   * long as `timeoutMs` says.
   */
  defer(name: string, close: () => unknown, options?: { timeoutMs: number }): void;
  /** Runs the steps on SIGTERM, SIGINT, or when the parent process that holds our IPC channel is gone. */
  onSignals(): void;
  /** Whether the steps run, or have run. */
  readonly isBegun: boolean;
  /** Runs the steps now; later calls wait for the same run. */
  run(reason: string): Promise<void>;
}

const STEP_TIMEOUT_MS = 10_000;

/** The orderly end of a process: what was opened last closes first, and no step can hold up the end for ever. */
export function createShutdown({ log }: { log: Logger }): Shutdown {
  const steps: { name: string; close: () => unknown; timeoutMs: number }[] = [];
  let running: Promise<void> | undefined;

  async function runSteps(reason: string): Promise<void> {
    log.info({ reason }, 'shutting down');
    for (const { name, close, timeoutMs } of steps.reverse()) {
      const deadline = Promise.withResolvers<void>();
      const timer = setTimeout(() => deadline.reject(new Error(`not closed within ${timeoutMs} ms`)), timeoutMs);
      try {
        await Promise.race([close(), deadline.promise]);
      } catch (error) {
        log.error({ err: error, step: name }, 'shutdown step failed');
      } finally {
        clearTimeout(timer);
      }
    }
  }

  const run = (reason: string): Promise<void> => {
    running ??= runSteps(reason);
    return running;
  };
  return {
    defer: (name, close, { timeoutMs } = { timeoutMs: STEP_TIMEOUT_MS }) => steps.push({ name, close, timeoutMs }),
    get isBegun() {
      return running !== undefined;
    },
    run,
    onSignals() {
      const end = (reason: string) => void run(reason).then(() => process.exit(0));
      // Repeated, as some wrappers do, it changes nothing. A second Ctrl-C ends the process at once.
      process.on('SIGTERM', () => end('SIGTERM'));
      process.once('SIGINT', end);
      process.once('disconnect', () => end('parent gone'));
    },
  };
}
