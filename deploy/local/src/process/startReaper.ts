import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./reaper.ts', import.meta.url));

/** One JSON line from a launcher to its reaper. */
export type ReaperMessage =
  /** Stop this process group, should the launcher end without having done so. */
  | { type: 'watch'; group: number; stopSignal: 'SIGTERM' | 'SIGINT' }
  /** The group has ended; its number may be another's soon. */
  | { type: 'forget'; group: number }
  /** A file that tells of the running stack, and has to go with it. */
  | { type: 'remove'; file: string }
  /** A link that leads to such a file: once that is gone it leads to another stack's, or goes too. */
  | { type: 'unlink'; link: string; file: string };

export interface Reaper {
  tell(message: ReaperMessage): void;
  /** Ends the reaper. What it still watches is stopped, and what it was told to remove is removed. */
  end(): Promise<void>;
}

/** Starts the process that ends the launcher's children should the launcher be killed. */
export function startReaper(env: NodeJS.ProcessEnv): Reaper {
  const child = spawn(process.execPath, [PROGRAM], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env });
  const exited = once(child, 'exit');
  child.unref();
  // A reaper that was killed can be told nothing more; the stack itself does not depend on it.
  child.stdin.on('error', () => undefined);
  return {
    tell(message) {
      if (child.stdin.writable) child.stdin.write(`${JSON.stringify(message)}\n`);
    },
    async end() {
      child.ref();
      child.stdin.end();
      await exited;
    },
  };
}
