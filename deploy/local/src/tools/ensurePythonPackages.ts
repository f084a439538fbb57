import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '../process/runToEnd.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { hasCommand, installDebianPackages } from './installDebianPackages.ts';

/** A first installation is some 350 MB, in thousands of files. */
const INSTALL_TIMEOUT_MS = 600_000;
const REQUIREMENTS_FILE = join(repositoryRoot, 'test/clients/python/requirements.txt');

/**
 * The Python interpreter that has the packages of the client tests: installed once per machine and list of packages, from
 * PyPI into the user's cache. `say` is told what takes long.
 * Throws a `StackError` that says what is missing: Python with its venv module, or the way to PyPI.
 */
export async function ensurePythonPackages(say: (line: string) => void): Promise<string> {
  const requirements = await readFile(REQUIREMENTS_FILE);
  const hash = createHash('sha256').update(requirements).digest('hex').slice(0, 12);
  const folder = join(homedir(), '.cache', 'turnpike', `python-${hash}`);
  const python = join(folder, 'bin/python');
  if (existsSync(folder)) return python;
  if (!(await canMakeEnvironments())) await installDebianPackages(['python3-venv'], 'Python with venv', say);

  say('Installing the Python clients from PyPI, once for this machine…');
  // Made under another name and renamed when complete: its interpreter, unlike its scripts, works wherever it is.
  const partial = `${folder}.partial-${process.pid}`;
  const how = { env: process.env, timeoutMs: INSTALL_TIMEOUT_MS };
  try {
    await mkdir(partial, { recursive: true });
    await runToEnd('making a Python environment', { command: 'python3', args: ['-m', 'venv', partial], ...how });
    await runToEnd('installing Python packages', {
      command: join(partial, 'bin/python'),
      args: ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', REQUIREMENTS_FILE],
      ...how,
    });
    await rename(partial, folder);
  } catch (error) {
    // One that was ended may still write for a moment.
    await rm(partial, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    if (!existsSync(folder)) throw error; // unless another process has made it meanwhile
  }
  return python;
}

/** Debian's Python comes without what makes an environment. */
async function canMakeEnvironments(): Promise<boolean> {
  if (!hasCommand('python3')) return false;
  const look = { command: 'python3', args: ['-c', 'import ensurepip, venv'], env: process.env };
  return runToEnd('looking for venv', look).then(
    () => true,
    () => false,
  );
}
