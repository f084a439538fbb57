import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./reaper.ts', import.meta.url));

/** One JSON line from a launcher to its reaper. */
export type ReaperMessage =
  /** Stops this process group if the launcher ends before it. */
  | { type: 'watch'; group: number; stopSignal: 'SIGTERM' | 'SIGINT' }
  /** The group has ended, and its number may be reused. */
  | { type: 'forget'; group: number }
  /** A file about the running stack, which is removed with it. */
  | { type: 'remove'; file: string }
  /** A link to such a file. After the file is gone the link leads to another stack's file, or is removed. */
  | { type: 'unlink'; link: string; file: string };

export interface Reaper {
  tell(message: ReaperMessage): void;
  /** Ends the reaper, which first stops its remaining groups and removes its files. */
  end(): Promise<void>;
}

/** Starts the process that ends the launcher's children if the launcher is killed. */
export function startReaper(env: NodeJS.ProcessEnv): Reaper {
  const child = spawn(process.execPath, [PROGRAM], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env });
  const exited = once(child, 'exit');
  child.unref();
  // Writes to a killed reaper fail. The stack itself does not depend on it.
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
