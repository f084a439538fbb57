import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '@turnpike/test-support/findFreePort';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface StartedProcess {
  child: ChildProcess;
  /** Once it is over. */
  exit: Promise<{ code: number | null; stderr: string }>;
}

/** Starts the process as a stack would, with these variables only. */
export function spawnTinyEngine(env: Record<string, string>, nodeArguments: string[] = []): StartedProcess {
  const child = spawn(process.execPath, [...nodeArguments, MAIN], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const exit = Promise.all([once(child, 'exit'), child.stderr && once(child.stderr, 'close')]);
  return { child, exit: exit.then(([[code]]) => ({ code, stderr })) };
}

export interface TinyEngineProcess extends StartedProcess {
  url: string;
  stop(): Promise<void>;
}

/** An engine of its own, ready to serve, with its own folder and port. */
export async function startTinyEngine(): Promise<TinyEngineProcess> {
  const stateDir = mkdtempSync(join(tmpdir(), 'tiny-engine-'));
  const port = await findFreePort();
  const started = spawnTinyEngine({ PORT: String(port), STATE_DIR: stateDir });
  const { child, exit } = started;
  const outcome = await Promise.race([once(child, 'message').then(() => undefined), exit]);
  if (outcome) throw new Error(`the engine did not start: ${outcome.stderr}`);
  return {
    ...started,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGKILL');
      await exit;
      rmSync(stateDir, { recursive: true });
    },
  };
}
