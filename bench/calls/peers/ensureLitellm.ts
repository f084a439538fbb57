import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '@turnpike/local-stack/process/runToEnd';

const VERSION = '1.100.4';
const INSTALL_TIMEOUT_MS = 600_000;

/** A Python that has LiteLLM's proxy: installed once per machine from PyPI into the user's cache. */
export async function ensureLitellm(say: (line: string) => void): Promise<string> {
  const folder = join(homedir(), '.cache', 'turnpike', `litellm-${VERSION}`);
  const python = join(folder, 'bin/python');
  if (existsSync(folder)) return python;
  say('installing LiteLLM’s proxy from PyPI, once for this machine');
  // Made under another name and renamed when complete: its interpreter, unlike its scripts, works wherever it is.
  const partial = `${folder}.partial-${process.pid}`;
  try {
    await mkdir(partial, { recursive: true });
    await runToEnd('making a Python environment', { command: 'python3', args: ['-m', 'venv', partial] });
    await runToEnd('installing LiteLLM’s proxy', {
      command: join(partial, 'bin/python'),
      args: ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `litellm[proxy]==${VERSION}`],
      timeoutMs: INSTALL_TIMEOUT_MS,
    });
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    if (!existsSync(folder)) throw error; // unless another process has made it meanwhile
  }
  return python;
}
