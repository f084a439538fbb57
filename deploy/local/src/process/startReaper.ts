import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ReaperMessage } from './reaperMessage.ts';

const PROGRAM = fileURLToPath(new URL('./reaper.ts', import.meta.url));

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
