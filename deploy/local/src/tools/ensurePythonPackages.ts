import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runToEnd } from '../process/runToEnd.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { hasCommand, installDebianPackages } from './installDebianPackages.ts';
import { toShortHash } from './makeOnce.ts';
import { makePythonOnce } from './makePythonOnce.ts';

const REQUIREMENTS_FILE = join(repositoryRoot, 'test/clients/python/requirements.txt');

/**
 * The Python interpreter that has the packages of the client tests, some 350 MB. They are installed once per machine and list of
 * packages, from PyPI into the user's cache. `say` is told what takes long.
 * Throws a `StackError` that says what is missing: Python with its venv module, or the way to PyPI.
 */
export async function ensurePythonPackages(say: (line: string) => void): Promise<string> {
  return makePythonOnce(`python-${toShortHash(await readFile(REQUIREMENTS_FILE))}`, {
    packages: ['-r', REQUIREMENTS_FILE],
    async prepare() {
      if (!(await canMakeEnvironments())) await installDebianPackages(['python3-venv'], 'Python with venv', say);
      say('Installing the Python clients from PyPI, once for this machine…');
    },
  });
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
