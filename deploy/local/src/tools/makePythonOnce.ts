import { join } from 'node:path';
import { runToEnd } from '../process/runToEnd.ts';
import { makeOnce } from './makeOnce.ts';

/** With thousands of files. */
const INSTALL_TIMEOUT_MS = 600_000;

/** Returns a Python that has what these arguments of `pip install` name, made once per machine: it works wherever it is, unlike its scripts. */
export async function makePythonOnce(
  name: string,
  { packages, prepare }: { packages: string[]; prepare: () => unknown },
): Promise<string> {
  const how = { env: process.env, timeoutMs: INSTALL_TIMEOUT_MS };
  const folder = await makeOnce(name, async (partial) => {
    await prepare();
    await runToEnd('making a Python environment', { command: 'python3', args: ['-m', 'venv', partial], ...how });
    await runToEnd('installing Python packages', {
      command: join(partial, 'bin/python'),
      args: ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages],
      ...how,
    });
  });
  return join(folder, 'bin/python');
}
